"""Smaller files of the same model: recipes, and a search that measures what each step costs."""
