"""How a slowdown is measured on a machine that others use too: pairs, their median, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from edgeinfer_browser.quantization.paired_ratio import MOST, ROUND, RUNS, PairedRatio, Timer, paired_ratio
from edgeinfer_browser.quantization.slowdown import Slowdown


def busy(seed: int, load: float, drifts: float = 0.02) -> tuple[Timer, Timer]:
    """Timers of 10.3 and 10 ms, on a machine whose speed drifts, and that takes a core away in a share of the runs."""
    random = np.random.default_rng(seed)
    drift = [1.0]

    def timer(milliseconds: float) -> Timer:
        def run(runs: int) -> Sequence[float]:
            drift[0] *= float(np.exp(random.normal(0, drifts)))
            taken = milliseconds * drift[0] * (1 + random.exponential(0.01, runs))
            return [float(each) for each in taken + random.exponential(30, runs) * (random.random(runs) < load)]

        return run

    return timer(10.3), timer(10.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_busy_machine_does_not_change_the_ratio(seed: int) -> None:
    found = paired_ratio(*busy(seed, load=0.5))
    assert found.ratio == pytest.approx(1.03, abs=0.03)
    assert found.low <= found.ratio <= found.high


def test_a_quiet_machine_needs_one_round_and_a_busy_one_more() -> None:
    assert paired_ratio(*busy(1, load=0, drifts=0)).pairs == ROUND
    assert ROUND < paired_ratio(*busy(1, load=0.9)).pairs <= MOST


def test_each_goes_first_in_every_second_pair_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def timer(name: str, warm: float) -> Timer:
        def run(runs: int) -> Sequence[float]:
            assert runs == RUNS
            order.append(name)
            return [99.0, warm if len(order) > 2 * ROUND else 50.0, 99.0]

        return run

    found = paired_ratio(timer("a", 3.0), timer("b", 2.0))
    assert "".join(order[:8]) == "baabbaab"
    assert (found.ratio, found.low, found.high, found.one_ms, found.other_ms) == (1.5, 1.5, 1.5, 3.0, 2.0)


@pytest.mark.parametrize("most", [1, 7, 30])
def test_no_more_pairs_are_counted_than_asked_for(most: int) -> None:
    assert paired_ratio(*busy(2, load=0.9), most).pairs == most


def test_the_worst_length_counts_and_all_are_told() -> None:
    near, far = PairedRatio(1.02, 1.01, 1.03, 2.0, 2.0, 20), PairedRatio(1.1, 1.08, 1.12, 9.0, 8.0, 40)
    found = Slowdown({8: far, 32: near})
    assert found.ratio == 1.1
    assert str(found) == "8 tokens 1.10x (1.08 to 1.12, 40 pairs), 32 tokens 1.02x (1.01 to 1.03, 20 pairs)"
