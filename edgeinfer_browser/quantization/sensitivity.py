"""Which matrices hurt: each is left in float in turn, and what that gains is measured.

What is found is ranked by gain for each multiplication, as size and time both grow with those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeinfer_browser.quantization.found_recipe import FoundRecipe
from edgeinfer_browser.quantization.matrices import Matrix
from edgeinfer_browser.quantization.search_log import Trial
from edgeinfer_browser.quantization.trials import Trials, total


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What leaving these matrices in float would gain."""

    matrices: tuple[Matrix, ...]
    #: Mean cosine gained.
    gain: float

    @property
    def gain_per_weight(self) -> float:
        """What ranks them."""
        return self.gain / total(self.matrices)


def sensitivities(
    trials: Trials, recipe: FoundRecipe, best: Trial, sets: Sequence[tuple[str, tuple[Matrix, ...]]]
) -> list[Sensitivity]:
    """The most rewarding first; each is tried on top of ``recipe``, and logged as not kept.

    Args:
        trials: measures.
        recipe: what everything else is like.
        best: what that gave.
        sets: (words for the log, matrices left in float together).
    """
    found = []
    for what, matrices in sets:
        kept = (*recipe.keep, *(matrix.digest for matrix in matrices))
        trial = trials.measure(f"float only to see: {what}", replace(recipe, keep=kept))
        gain = trial.mean - best.mean
        trials.record(trial, kept=False, why=f"{gain:+.5f} for {total(matrices) / 1e6:.2f} M weights")
        found.append(Sensitivity(matrices, gain))
    return sorted(found, key=lambda each: each.gain_per_weight, reverse=True)
