"""Two models timed against each other in a real browser: each length is told, with its interval. No time is a test."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.quantization.paired_ratio import MOST, ROUND
from edgeinfer_browser.quantization.slowdown import Slowdown, slowdown_in_browser
from tests.outlier_encoder import encoder, feeds

LENGTHS = dict(enumerate(feeds(2)))


def measured() -> Slowdown:
    """Two layers against one."""
    return slowdown_in_browser(encoder(layers=2), encoder(layers=1), LENGTHS, BrowserCheck())


def test_every_length_is_timed_until_it_is_certain_or_the_most_pairs_are() -> None:
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        found = pool.submit(measured).result(timeout=300)
    print(found)
    assert set(found.lengths) == set(LENGTHS)
    for each in found.lengths.values():
        assert ROUND <= each.pairs <= MOST
        assert each.pairs % ROUND == 0
        assert 0 < each.low <= each.ratio <= each.high
        assert min(each.one_ms, each.other_ms) > 0
