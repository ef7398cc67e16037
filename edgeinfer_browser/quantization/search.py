"""Better than the recipes: search the int8 file that reaches a target, every step chosen by what it measurably gains.

1. Plain int8, per channel. 2. Embeddings with a scale for each row, if that is worth it. 3. The roles of matrices, in
the order of what their quantization loses: how strongly to smooth what they read, which outlier channels to compute on
the side. 4. If the target is not reached: the matrices that hurt most, found one by one, stay in float while size and
time allow it.
Quality is measured on the calibration feeds alone; confirm it on other texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import onnx

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.quantization.calibration import Feeds, require_feeds
from edgeinfer_browser.quantization.channel_search import WORTH, search_channels
from edgeinfer_browser.quantization.found_recipe import FoundRecipe, apply_recipe
from edgeinfer_browser.quantization.keep_search import search_kept
from edgeinfer_browser.quantization.matrices import by_input, by_role
from edgeinfer_browser.quantization.search_log import Log, Note, Trial
from edgeinfer_browser.quantization.sensitivity import sensitivities
from edgeinfer_browser.quantization.slowdown import Slowdown
from edgeinfer_browser.quantization.target import Target
from edgeinfer_browser.quantization.trials import Trials
from edgeinfer_browser.quantization.unreached import unreached

#: (variant, plain int8) -> time of a run in WASM, the first as a multiple of the second.
MeasureSlowdown = Callable[[onnx.ModelProto, onnx.ModelProto], Slowdown]


@dataclass(frozen=True, slots=True)
class Found:
    """The variant, how to make it again, and all that was tried."""

    model: onnx.ModelProto
    recipe: FoundRecipe
    best: Trial
    tried: tuple[Trial, ...]


def search(
    model: onnx.ModelProto,
    target: Target,
    calibration: Sequence[Feeds],
    *,
    log: Log = lambda trial: None,
    note: Note = lambda sentence: None,
    slowdown: MeasureSlowdown | None = None,
    texts: Mapping[str, Any] | None = None,
) -> Found:
    """The int8 variant of ``model`` that reaches ``target``.

    Args:
        model: float32, weights in memory; it is left as it was.
        target: what to reach.
        calibration: feeds of calibration texts (or images), two at least, a hundred or more to be of use.
        log: called with each trial.
        note: called with a sentence for each matrix that the search leaves out, which says why.
        slowdown: measures the time of what was found; without it the estimate has to do.
        texts: what the recipe says of the calibration texts (``texts``, ``digests``).

    Raises:
        InputError: fewer than two feeds.
        GraphError: no matrix in the model that could be quantized.
        TargetError: nothing reaches the target; says how near it came, and what would reach it.
    """
    require_feeds(calibration, "The search")
    trials = Trials(model, calibration, log)
    if not trials.matrices:
        raise GraphError("The model multiplies by no constant float32 matrix: there is nothing to search.")
    for sentence in trials.left_out:
        note(sentence)
    recipe, best = _plain(trials)
    if best.mb > target.max_mb:  # nothing that follows makes it smaller
        raise unreached(trials, target, best)
    for step in (_rows, _channels, _table):
        recipe, best = step(trials, recipe, best, target)
    if not target.quality_reached(best) and target.within_budget(best):
        recipe, best = search_kept(trials, recipe, best, target)
    if slowdown is not None:
        best = _timed(trials, recipe, best, slowdown, target)
    if not (target.quality_reached(best) and target.within_budget(best)):
        raise unreached(trials, target, best)
    names = {digest: trials.matrices[digest].weight for digest in _named(recipe)}
    finished = replace(recipe, names=names, calibration=dict(texts or {}), measured=_measured(best, len(calibration)))
    return Found(apply_recipe(model, finished), finished, best, tuple(trials.tried))


def _plain(trials: Trials) -> tuple[FoundRecipe, Trial]:
    recipe = FoundRecipe()
    return recipe, trials.record(trials.measure("plain int8, per channel", recipe), kept=True, why="where it starts")


def _rows(trials: Trials, recipe: FoundRecipe, best: Trial, target: Target) -> tuple[FoundRecipe, Trial]:
    """What this gains drowns in what matrices lose, so :func:`_table` asks again when those are done."""
    candidate = replace(recipe, embeddings="rows")
    trial = trials.measure("embeddings: a scale for each row", candidate)
    if target.within_budget(trial):
        return candidate, trials.record(trial, kept=True, why=f"{trial.mean - best.mean:+.5f}: asked again at the end")
    trials.record(trial, kept=False, why="over the budget")
    return recipe, best


def _table(trials: Trials, recipe: FoundRecipe, best: Trial, target: Target) -> tuple[FoundRecipe, Trial]:
    if recipe.embeddings == "table":
        return recipe, best
    candidate = replace(recipe, embeddings="table")
    trial = trials.measure("embeddings: one scale a table", candidate)
    change = f"{trial.mean - best.mean:+.5f}"
    if best.mean - trial.mean > WORTH * (1 - best.mean):
        trials.record(trial, kept=False, why=f"{change}: rows are worth their bytes")
        return recipe, best
    return candidate, trials.record(trial, kept=True, why=f"{change}: rows are not worth their bytes")


def _channels(trials: Trials, recipe: FoundRecipe, best: Trial, target: Target) -> tuple[FoundRecipe, Trial]:
    """Roles that lose most come first: what is done for the others is then measured in less noise."""
    roles = by_role(by_input(trials.matrices.values()))
    names = {tuple(matrix for group in groups for matrix in group): role for role, groups in roles.items()}
    sets = [(f"all {role}", matrices) for matrices, role in names.items()]
    for found in sensitivities(trials, recipe, best, sets):
        role = names[found.matrices]
        recipe, best = search_channels(trials, recipe, best, target, role, roles[role])
    return recipe, best


def _timed(trials: Trials, recipe: FoundRecipe, best: Trial, slowdown: MeasureSlowdown, target: Target) -> Trial:
    """What was found, timed; over the budget it is looked at once more, in a new browser, before it is refused."""
    made, plain = apply_recipe(trials.model, recipe), apply_recipe(trials.model, FoundRecipe())
    for what in ("timed in a browser", "timed again, in another browser"):
        found = slowdown(made, plain)
        trial = replace(best, what=what, slowdown=found.ratio, slowdown_measured=True)
        within = target.within_budget(trial)
        why = str(found) if within else f"over the budget of {target.max_slowdown:g}x: {found}"
        trial = trials.record(trial, kept=within, why=why)
        if within:
            break
    return trial


def _named(recipe: FoundRecipe) -> list[str]:
    return [*recipe.keep, *(digest for step in recipe.channels for digest in step.matrices)]


def _measured(best: Trial, texts: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "on": f"{texts} calibration texts",
        "mean_cosine": round(best.mean, 6),
        "worst_cosine": round(best.worst, 6),
        "mb": round(best.mb, 3),
    }
    if best.same_label is not None:
        made["same_label"] = round(best.same_label, 4)
    return made
