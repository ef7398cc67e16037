"""The last step of the search: leave the matrices that hurt most in float, while size and time allow it."""

from __future__ import annotations

from dataclasses import replace

from edgeinfer_browser.quantization.found_recipe import FoundRecipe
from edgeinfer_browser.quantization.matrices import Matrix
from edgeinfer_browser.quantization.search_log import Trial
from edgeinfer_browser.quantization.sensitivity import sensitivities
from edgeinfer_browser.quantization.target import Target
from edgeinfer_browser.quantization.trials import Trials


def search_kept(trials: Trials, recipe: FoundRecipe, best: Trial, target: Target) -> tuple[FoundRecipe, Trial]:
    """Keep one matrix more at a time, the most rewarding first, until the target's quality is reached.

    One that would break a budget is passed over: a smaller one behind it may still fit.
    """
    sets = [(matrix.weight, (matrix,)) for matrix in trials.matrices.values()]
    for found in sensitivities(trials, recipe, best, sets):
        if target.quality_reached(best) or found.gain <= 0:
            break
        recipe, best = _keep(trials, recipe, best, target, found.matrices[0])
    return recipe, best


def _keep(
    trials: Trials, recipe: FoundRecipe, best: Trial, target: Target, matrix: Matrix
) -> tuple[FoundRecipe, Trial]:
    candidate = replace(recipe, keep=(*recipe.keep, matrix.digest))
    trial = trials.measure(f"{matrix.weight} in float16", candidate)
    gain = f"{trial.mean - best.mean:+.5f}"
    if trial.mean <= best.mean:
        trials.record(trial, kept=False, why=f"{gain}: no gain on top of the others")
        return recipe, best
    if not target.within_budget(trial):
        trials.record(trial, kept=False, why=f"{gain}: over the budget")
        return recipe, best
    return candidate, trials.record(trial, kept=True, why=gain)
