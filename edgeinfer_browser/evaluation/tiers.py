"""One tier: sessions of every variant side by side, their answers to the texts, and their latency taken in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgeinfer_browser.errors import BackendError
from edgeinfer_browser.evaluation.latency import WARM_UP, interleaved, summary
from edgeinfer_browser.evaluation.packed_model import REFERENCE, Feeds, PackedModel
from edgeinfer_browser.packing.native import answers, open_session

#: Unless EDGEINFER_NUM_THREADS says otherwise.
NATIVE_THREADS = 1

Answers = list[dict[str, npt.NDArray[Any]]]


class TimedSession(Protocol):
    """What native and web sessions have alike."""

    create_ms: float

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """One run."""
        ...

    def time(self, feeds: Mapping[str, npt.NDArray[Any]], runs: int) -> list[float]:
        """Milliseconds of each run."""
        ...


class NativeSession:
    """A native InferenceSession with a stopwatch, on one thread as in the browser.

    With more, the idle threads of one session spin for a while and take the core that the next one needs.
    """

    def __init__(self, path: Path) -> None:
        before = time.perf_counter()
        self._session = open_session(path, NATIVE_THREADS)
        self.create_ms = (time.perf_counter() - before) * 1000

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """One run."""
        return answers(self._session, [feeds])[0]

    def time(self, feeds: Mapping[str, npt.NDArray[Any]], runs: int) -> list[float]:
        """Milliseconds of each run, outputs included."""
        taken = []
        for _ in range(runs):
            before = time.perf_counter()
            self.run(feeds)
            taken.append((time.perf_counter() - before) * 1000)
        return taken


@dataclass(slots=True)
class Tier:
    """What was measured on one tier."""

    name: str
    #: dtype -> what is reported of it: ``latency`` (tokens -> figures), ``create_ms``, ... or ``error``.
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: dtype -> answers to the texts.
    answers: dict[str, Answers] = field(default_factory=dict)
    #: Sentences that the reader must know.
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Workload:
    """What each tier is given: the texts' feeds, feeds of fixed lengths in tokens to time, and how often."""

    feeds: Sequence[Feeds]
    timed: Mapping[int, Feeds]
    rounds: int
    warm_up: int = WARM_UP


def measure(tier: Tier, sessions: Mapping[str, TimedSession], work: Workload) -> None:
    """Answers and latency of every session, into ``tier``; a session that fails is reported and left out."""
    alive = {}
    for dtype, session in sessions.items():
        try:
            tier.answers[dtype] = [session.run(feeds) for feeds in work.feeds]
        except BackendError as error:
            tier.variants[dtype] = {"error": error.message}
            continue
        alive[dtype] = session
        tier.variants[dtype] = {"texts": len(work.feeds), "create_ms": round(session.create_ms, 1), "latency": {}}
    for tokens, feeds in work.timed.items():
        taken = interleaved(_timers(alive, feeds), work.rounds, work.warm_up)
        for dtype, milliseconds in taken.items():
            tier.variants[dtype]["latency"][str(tokens)] = summary(milliseconds, taken.get(REFERENCE))


def _timers(sessions: Mapping[str, TimedSession], feeds: Feeds) -> dict[str, Callable[[], float]]:
    return {dtype: partial(_once, session, feeds) for dtype, session in sessions.items()}


def _once(session: TimedSession, feeds: Feeds) -> float:
    return session.time(feeds, 1)[0]


def measure_native(model: PackedModel, work: Workload) -> Tier:
    """Every variant in native ONNX Runtime, each text a run of its own.

    Raises:
        SessionError: when ONNX Runtime refuses fp32; another variant's refusal is reported.
    """
    tier = Tier("native")
    sessions: dict[str, TimedSession] = {}
    for dtype in model.dtypes:
        try:
            sessions[dtype] = NativeSession(model.folder / model.files(dtype)[0])
        except BackendError as error:
            if dtype == REFERENCE:
                raise
            tier.variants[dtype] = {"error": error.message}
    measure(tier, sessions, work)
    return tier


def tokens_of(feeds: Sequence[Feeds]) -> dict[str, int]:
    """How long the texts are, in tokens: median and longest."""
    lengths = [np.shape(feed["input_ids"])[1] for feed in feeds]
    return {"median": int(np.median(lengths)), "longest": max(lengths)}
