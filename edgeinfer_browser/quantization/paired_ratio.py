"""The ratio of two runtimes on a machine that others use too: the median of pairs, until that is certain enough.

Both runs of a pair meet nearly the same machine, so whatever else it does falls out of their ratio, and the median
passes over the pairs in which it does not. How far the median can be off is the order statistics' distribution-free
95 % interval; pairs are added until that is narrow.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

#: Milliseconds of each of so many runs.
Timer = Callable[[int], Sequence[float]]

#: Runs for one timing, of which the fastest counts: others' work on the machine only ever adds.
RUNS = 3
#: Pairs between two looks at the interval. The first so many are thrown away: WebAssembly is compiled anew, in the
#: background, while it runs, and on a busy machine that takes its time.
ROUND = 20
#: Width of the interval, as a share of the ratio, that is narrow enough.
NARROW = 0.03
#: Pairs after which the interval is taken as it is.
MOST = 160


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """One time as a multiple of the other."""

    #: Median over the pairs, and the 95 % interval of it.
    ratio: float
    low: float
    high: float
    #: Median milliseconds of each.
    one_ms: float
    other_ms: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.ratio:.2f}x ({self.low:.2f} to {self.high:.2f}, {self.pairs} pairs)"

    def to_json(self) -> dict[str, float]:
        """All fields, rounded to a thousandth."""
        return {name: round(value, 3) for name, value in asdict(self).items()}


def paired_ratio(one: Timer, other: Timer, most: int = MOST) -> PairedRatio:
    """Time ``one`` against ``other``, each first in every second pair.

    Args:
        one: runs it so many times.
        other: the same of what it is compared with.
        most: pairs that are counted at most; one at least is.
    """
    _pairs(one, other, min(ROUND, most))
    times: list[tuple[float, float]] = []
    while True:
        times += _pairs(one, other, max(1, min(ROUND, most - len(times))))
        found = _summary(times)
        if len(times) >= most or found.high - found.low <= NARROW * found.ratio:
            return found


def _pairs(one: Timer, other: Timer, count: int) -> list[tuple[float, float]]:
    taken = []
    for number in range(count):
        if number % 2:
            first = min(one(RUNS))
            taken.append((first, min(other(RUNS))))
        else:
            first = min(other(RUNS))
            taken.append((min(one(RUNS)), first))
    return taken


def _summary(times: Sequence[tuple[float, float]]) -> PairedRatio:
    ratios = sorted(one / other for one, other in times)
    count = len(ratios)
    # The ratios below the true median are binomial(count, 1/2); 1.96 of its deviations hold 95 %.
    reach = math.ceil(0.98 * math.sqrt(count))
    low = max(count // 2 - reach, 0)
    ones, others = ([pair[side] for pair in times] for side in (0, 1))
    median = statistics.median
    return PairedRatio(median(ratios), ratios[low], ratios[count - 1 - low], median(ones), median(others), count)
