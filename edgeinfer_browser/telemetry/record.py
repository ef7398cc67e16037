"""CallRecord: one call while it is under way, as the pipeline and the chain of tiers note it.

Each note is one reading of the clock, so that a call without a sink costs next to nothing.
"""

from __future__ import annotations

import time
from time import perf_counter

from edgeinfer_browser.telemetry.metric import Fallback, InferenceMetric, Latency


class CallRecord:
    """Made when a call begins; :meth:`metric` ends it. Times are those of ``perf_counter``, in seconds."""

    __slots__ = (
        "_cold_start",
        "_dtype",
        "_ended",
        "_failed",
        "_started",
        "_tier",
        "_timestamp",
        "_tokenised",
        "_tried",
        "confidence",
        "items",
        "tokens",
    )

    def __init__(self) -> None:
        self._timestamp = time.time()
        self._started = perf_counter()
        #: When the feeds were ready, the latest tier was begun with, and a tier had answered.
        self._tokenised: float | None = None
        self._tried: float | None = None
        self._ended: float | None = None
        #: The first tier that failed: its name, its error's class, and when it had been begun with.
        self._failed: tuple[str, str, float] | None = None
        self._tier: str | None = None
        self._dtype: str | None = None
        self._cold_start = False
        self.items = 0
        self.tokens = 0
        self.confidence: float | None = None

    def tokenised(self, tokens: int) -> None:
        """The feeds are ready: ``tokens`` of all texts."""
        self._tokenised = perf_counter()
        self.tokens = tokens

    def tries(self, *, cold_start: bool = False) -> None:
        """A tier is begun with: its load, or its run. After an answer it is the same call's next text."""
        if self._ended is None:
            self._tried = perf_counter()
            self._cold_start = cold_start

    def gave_way(self, tier: str, error: BaseException) -> None:
        """That tier failed, and the next one's turn has come."""
        if self._failed is None:
            self._failed = (tier, type(error).__name__, self._tried or perf_counter())

    def answered(self, tier: str, dtype: str | None) -> None:
        """The run has ended well."""
        self._ended = perf_counter()
        self._tier = tier
        self._dtype = dtype

    def metric(self, model: str, revision: str, task: str, error: BaseException | None = None) -> InferenceMetric:
        """What the call was, which ends now; ``error`` is what it ended in."""
        fallback = None
        if self._failed:
            tier, reason, since = self._failed
            fallback = Fallback(tier, reason, 1000 * ((self._tried or since) - since))
        return InferenceMetric(
            timestamp=self._timestamp,
            model=model,
            revision=revision,
            task=task,
            tier=self._tier,
            dtype=self._dtype,
            latency_ms=self._latency(perf_counter()),
            tokens_in=self.tokens,
            items=self.items,
            cold_start=self._cold_start,
            fallback=fallback,
            confidence=self.confidence,
            error=None if error is None else type(error).__name__,
        )

    def _latency(self, end: float) -> Latency:
        # What was not reached has no length: a call that ended early ended in the part that it was in.
        tokenised = end if self._tokenised is None else self._tokenised
        ran = end if self._tried is None else self._tried
        answered = end if self._ended is None else self._ended
        first = ran if self._failed is None else self._failed[2]
        return Latency(
            tokenise=1000 * (tokenised - self._started),
            queue=1000 * (first - tokenised),
            run=1000 * (answered - ran),
            post=1000 * (end - answered),
            total=1000 * (end - self._started),
        )
