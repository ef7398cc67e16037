"""Sinks: whatever can be called with an InferenceMetric. A function of your own is one; two are here.

A sink is called as a call ends, on the thread that the call runs on, so it must be quick; one that raises is dropped
with a notice, and the call's answer is not touched.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator

from edgeinfer_browser.bridge import Notice, OnNotice
from edgeinfer_browser.errors import InputError
from edgeinfer_browser.telemetry.metric import InferenceMetric

Sink = Callable[[InferenceMetric], None]


class RingBuffer:
    """The latest ``size`` metrics, oldest first.

    Example:
        >>> kept = RingBuffer(100)
        >>> len(kept)
        0
    """

    def __init__(self, size: int = 1000) -> None:
        if size < 1:
            raise InputError(f"A ring buffer keeps 1 metric or more, not {size!r}.")
        self._metrics: deque[InferenceMetric] = deque(maxlen=size)

    def __call__(self, metric: InferenceMetric) -> None:
        """Keep a metric; the oldest makes room for it."""
        self._metrics.append(metric)

    def __iter__(self) -> Iterator[InferenceMetric]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def clear(self) -> None:
        """Forget all of them."""
        self._metrics.clear()


def to_console(metric: InferenceMetric) -> None:
    """One line of JSON on stdout, which is the console in a browser."""
    print(json.dumps(metric.to_json()))


class Outlet:
    """What a pipeline puts its metrics into: a sink, until it raises."""

    def __init__(self, sink: Sink | None = None, on_notice: OnNotice | None = None) -> None:
        if sink is not None and not callable(sink):
            raise InputError(f"on_metric takes what can be called with a metric, not {type(sink).__name__}.")
        self._sink = sink
        self._on_notice = on_notice
        #: Why the sink is not called any more.
        self.notices: tuple[Notice, ...] = ()

    @property
    def open(self) -> bool:
        """Whether anyone listens."""
        return self._sink is not None

    def put(self, metric: InferenceMetric) -> None:
        """Hand a metric on. Never raises."""
        if self._sink is None:
            return
        try:
            self._sink(metric)
        except Exception as error:  # noqa: BLE001 - a sink is anyone's code, and the call has its answer
            self._drop(error)

    def _drop(self, error: Exception) -> None:
        self._sink = None
        notice = Notice(
            "metric_sink_dropped",
            f"The metrics' sink raised {type(error).__name__} ({error}) and is called no more. Answers are not "
            "touched; mend it and load the pipeline again.",
        )
        self.notices = (notice,)
        if self._on_notice:
            self._on_notice(notice)
