"""What to say when no file reaches the target: how near it came, and what would reach it."""

from __future__ import annotations

from edgeinfer_browser.errors import TargetError
from edgeinfer_browser.quantization.recipes import quantize
from edgeinfer_browser.quantization.search_log import Trial
from edgeinfer_browser.quantization.slowdown import FLOAT_MATMUL
from edgeinfer_browser.quantization.target import Target
from edgeinfer_browser.quantization.trials import Trials


def unreached(trials: Trials, target: Target, best: Trial) -> TargetError:
    """The error; to say what would reach the target, float16 is made and measured too."""
    half = trials.measure_model("fp16", quantize(trials.model, "fp16"), FLOAT_MATMUL)
    trials.record(half, kept=False, why="what would reach the target?")
    reaching = [trial for trial in trials.tried if target.quality_reached(trial)]
    return TargetError(
        f"No int8 file reaches the target ({target}). The nearest has {_figures(best)}: {_short_of(target, best)}. "
        f"{_way_out(target, reaching, trials.tried)} Nothing was written.",
        target=str(target),
        best=best.to_json(),
        would_reach=[trial.to_json() for trial in reaching],
    )


def _figures(trial: Trial) -> str:
    return (
        f"mean cosine {trial.mean:.5f}, worst {trial.worst:.5f}, {trial.mb:.2f} MB and {trial.slowdown:.2f}x the time"
    )


def _short_of(target: Target, best: Trial) -> str:
    misses = []
    if best.mean < target.cosine:
        misses.append(f"the mean is {target.cosine - best.mean:.5f} short")
    if best.worst < target.worst:
        misses.append(f"the worst is {target.worst - best.worst:.5f} short")
    if best.mb > target.max_mb:
        misses.append(f"it is {best.mb - target.max_mb:.2f} MB too large")
    if best.slowdown > target.max_slowdown:
        misses.append(f"it takes {best.slowdown - target.max_slowdown:.2f}x too long")
    return ", ".join(misses)


def _way_out(target: Target, reaching: list[Trial], tried: list[Trial]) -> str:
    smallest = min(tried, key=lambda trial: trial.mb)
    if smallest.mb > target.max_mb:
        return (
            f"The smallest that was tried has {smallest.mb:.2f} MB: allow that, or take 4-bit weights, which lose more "
            "(edgeinfer quantize --method int4-weights-k-quant)."
        )
    if not reaching:
        return "Not even float16 would reach it: lower the target."
    nearest = min(reaching, key=lambda trial: trial.mb)
    return f"What would reach it: {nearest.what} ({_figures(nearest)}). Allow that, or lower the target."
