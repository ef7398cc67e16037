"""Sinks: what takes metrics, and what becomes of one that raises."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinfer_browser import pipeline
from edgeinfer_browser.bridge import Notice
from edgeinfer_browser.errors import InputError
from edgeinfer_browser.telemetry import CallRecord, InferenceMetric, Outlet, RingBuffer, to_console
from tests.unit.fakes import BASE, FakeBridge


def metric(items: int = 1) -> InferenceMetric:
    record = CallRecord()
    record.items = items
    return record.metric("tiny", "r1", "text-classification")


def broken(_: InferenceMetric) -> None:
    raise ValueError("disk full")


def test_a_ring_buffer_keeps_the_latest_oldest_first() -> None:
    kept = RingBuffer(3)
    for number in range(5):
        kept(metric(number))
    assert [each.items for each in kept] == [2, 3, 4]
    assert len(kept) == 3
    kept.clear()
    assert list(kept) == []


def test_a_ring_buffer_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="1 metric or more"):
        RingBuffer(0)


def test_the_console_gets_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    given = metric()
    to_console(given)
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == given.to_json()


def test_a_sink_that_raises_is_called_once_and_told_of_once() -> None:
    heard: list[Notice] = []
    outlet = Outlet(broken, heard.append)
    opens = []
    for _ in range(3):
        opens.append(outlet.open)
        outlet.put(metric())
    assert opens == [True, False, False]
    assert [notice.kind for notice in heard] == ["metric_sink_dropped"]
    assert "ValueError (disk full)" in heard[0].message
    assert outlet.notices == tuple(heard)


async def test_a_sink_that_raises_does_not_touch_the_answer_and_is_in_the_info() -> None:
    events: list[dict[str, Any]] = []
    pipe = await pipeline(
        "text-classification", model=BASE, bridge=FakeBridge(), on_metric=broken, on_progress=events.append
    )
    assert (await pipe("good"))[0]["label"] == "positive"
    assert (await pipe("bad"))[0]["label"] == "negative"
    assert [notice.kind for notice in pipe.info.notices] == ["metric_sink_dropped"]
    assert [event["kind"] for event in events if event["stage"] == "notice"] == ["metric_sink_dropped"]


async def test_what_cannot_be_called_is_refused_before_anything_is_fetched() -> None:
    bridge = FakeBridge()
    wrong: Any = "console"
    with pytest.raises(InputError, match="not str"):
        await pipeline("text-classification", model=BASE, bridge=bridge, on_metric=wrong)
    assert bridge.fetched == []
