"""How good, how large and how fast each variant of a model is, natively and in a real browser."""
