"""The search over what is done to channels: how strongly to smooth, how many outliers to compute on the side.

All layers' matrices of one role are treated alike, which keeps the number of trials small and the choice from fitting
the calibration texts too closely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeinfer_browser.quantization.found_recipe import ChannelStep, FoundRecipe
from edgeinfer_browser.quantization.matrices import Matrix, Readers
from edgeinfer_browser.quantization.outliers import largest_channels
from edgeinfer_browser.quantization.search_log import Trial
from edgeinfer_browser.quantization.smoothing import smoothing_scale
from edgeinfer_browser.quantization.target import Target
from edgeinfer_browser.quantization.trials import Trials

STRENGTHS = (0.5, 0.7, 0.9)
OUTLIERS = (4, 16)
#: Least share of what is lost that a step has to win back, to be worth its bytes and its time in every run.
WORTH = 0.05
#: Options whose losses differ by less than this share are as good as each other.
EQUAL = 0.02


@dataclass(frozen=True, slots=True)
class Option:
    """One way to treat the channels of a role."""

    strength: float | None
    outliers: int

    def __str__(self) -> str:
        words = [] if self.strength is None else [f"smoothing {self.strength}"]
        words += [f"{self.outliers} outliers"] if self.outliers else []
        return " and ".join(words)


def search_channels(
    trials: Trials, recipe: FoundRecipe, best: Trial, target: Target, role: str, groups: Sequence[Readers]
) -> tuple[FoundRecipe, Trial]:
    """The best option for one role on top of ``recipe``, or ``recipe`` and ``best`` when none is worth it.

    Each strength and each number of outliers is tried alone, then the best strength with each number. Outliers only
    where one matrix reads the tensor: each more would need a side product of its own.
    """
    counts = OUTLIERS if all(len(group) == 1 for group in groups) else ()
    smoothed = [_measured(trials, recipe, role, groups, Option(strength, 0)) for strength in STRENGTHS]
    split = [_measured(trials, recipe, role, groups, Option(None, count)) for count in counts]
    strength = _best(smoothed).option.strength
    both = [_measured(trials, recipe, role, groups, Option(strength, count)) for count in counts]
    measured = [*smoothed, *split, *both]
    winner = _winner([each for each in measured if target.within_budget(each.trial)], best)
    chosen = recipe, best
    for each in measured:
        why = _why(each, best, winner, target)
        recorded = trials.record(each.trial, each is winner, why)
        chosen = (each.recipe, recorded) if each is winner else chosen
    return chosen


@dataclass(frozen=True, slots=True)
class _Measured:
    option: Option
    recipe: FoundRecipe
    trial: Trial


def _measured(trials: Trials, recipe: FoundRecipe, role: str, groups: Sequence[Readers], option: Option) -> _Measured:
    steps = tuple(channel_step(trials, group, option) for group in groups)
    candidate = replace(recipe, channels=(*recipe.channels, *steps))
    return _Measured(option, candidate, trials.measure(f"{role}: {option}", candidate))


def _best(measured: Sequence[_Measured]) -> _Measured:
    return max(measured, key=lambda each: each.trial.mean)


def _winner(fitting: Sequence[_Measured], best: Trial) -> _Measured | None:
    """The one that takes least time of those that gain about as much as the best."""
    enough = WORTH * (1 - best.mean)
    if not fitting or _best(fitting).trial.mean <= best.mean + enough:
        return None
    top = _best(fitting).trial.mean
    equal = [each for each in fitting if each.trial.mean >= top - EQUAL * (1 - top)]
    return min(equal, key=lambda each: (each.trial.slowdown, each.trial.mb))


def channel_step(trials: Trials, group: Sequence[Matrix], option: Option) -> ChannelStep:
    """The step of one tensor, from what its channels and its matrices are like."""
    magnitudes = trials.magnitudes[group[0].input].copy()
    outliers = largest_channels(magnitudes, trials.weight(group[0]), option.outliers)
    scale = b""
    if option.strength is not None:
        weights = [trials.weight(matrix) for matrix in group]
        scale = smoothing_scale(magnitudes, weights, option.strength).astype("<f2").tobytes()
    return ChannelStep(tuple(matrix.digest for matrix in group), scale, tuple(outliers))


def _why(each: _Measured, best: Trial, winner: _Measured | None, target: Target) -> str:
    """``winner`` is None when none is worth its time."""
    gain = f"{each.trial.mean - best.mean:+.5f}"
    if each is winner:
        return gain
    if not target.within_budget(each.trial):
        return f"{gain}: over the budget"
    if winner is None:
        return f"{gain}: not worth its time"
    return f"{gain}: another gains more" if each.trial.mean < winner.trial.mean else f"{gain}: another takes less time"
