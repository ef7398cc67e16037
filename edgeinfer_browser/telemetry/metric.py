"""InferenceMetric: what is known of one call of a pipeline, once it has ended.

There is no text in it, ever: errors are told by the name of their class alone, because a message may quote what was
given. ``js_shim/metric.js`` makes the same shape on the page for calls that do not come to Python.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one call. With ``Fallback.added_ms`` the parts are the ``total``."""

    #: Reading the texts and making the feeds. On the page 0 where the API tokenises.
    tokenise: float
    #: Waiting until a tier began with the run: for its load, or for its turn on a server; for a call from the page also
    #: the way to the Python worker and back. Turns within a session's worker, or at a remote API, cannot be seen from
    #: here and are in ``run``.
    queue: float
    #: The run that answered, of all texts, as the pipeline sees it: with the way to the session's worker or the server.
    #: Where none did, the last attempt.
    run: float
    #: From outputs to labels or embeddings.
    post: float
    total: float


@dataclass(frozen=True, slots=True)
class Fallback:
    """The first tier that failed within a call."""

    from_tier: str
    #: The error's class; ``info.attempts`` has its message.
    reason: str
    #: Milliseconds from the start of the attempt that failed to the start of the last one.
    added_ms: float


@dataclass(frozen=True, slots=True)
class InferenceMetric:
    """One call, whether it ended in a result or in an error."""

    #: When it began, in seconds since the epoch.
    timestamp: float
    model: str
    #: The manifest's; None on the page's thin path, which reads no manifest.
    revision: str | None
    task: str
    #: The tier that answered; None when none did.
    tier: str | None
    dtype: str | None
    latency_ms: Latency
    #: Tokens of all texts, special ones included; None where the API tokenises.
    tokens_in: int | None
    #: Texts in the call.
    items: int
    #: The first run of a tier after it was loaded.
    cold_start: bool
    fallback: Fallback | None
    #: The best label's score, of several texts their mean; None for embeddings and for all heads at once.
    confidence: float | None
    #: The error's class.
    error: str | None

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)
