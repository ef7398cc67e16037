"""Latency of several variants, taken in turns so that whatever else the machine does meets all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Rounds thrown away first: caches fill and JavaScript's and WebAssembly's compilers are still at work.
WARM_UP = 3

#: One run, and its milliseconds.
Timed = Callable[[], float]


def interleaved(runs: Mapping[str, Timed], rounds: int, warm_up: int = WARM_UP) -> dict[str, list[float]]:
    """Milliseconds of each of ``rounds`` runs, by name: every round runs each once, and each round begins elsewhere."""
    names = list(runs)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(warm_up + rounds):
        first = number % len(names) if names else 0
        for name in names[first:] + names[:first]:
            milliseconds = runs[name]()
            if number >= warm_up:
                taken[name].append(milliseconds)
    return taken


def summary(milliseconds: Sequence[float], reference: Sequence[float] | None) -> dict[str, Any]:
    """Median and p90 in milliseconds, and the ratio to fp32: the median of the ratios round by round.

    The p90 is the inclusive one of :func:`statistics.quantiles`. Without fp32's milliseconds there is no ratio.
    """
    p90 = statistics.quantiles(milliseconds, n=10, method="inclusive")[-1] if len(milliseconds) > 1 else milliseconds[0]
    found = {
        "median_ms": round(statistics.median(milliseconds), 3),
        "p90_ms": round(p90, 3),
        "runs": len(milliseconds),
    }
    if reference is None:
        return found
    ratio = statistics.median(ours / theirs for ours, theirs in zip(milliseconds, reference, strict=True))
    return {**found, "ratio_to_fp32": round(ratio, 4)}
