"""Backend: a small promise (load, run, close), kept by each tier, and Attempt: how one went."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from edgeinfer_browser.errors import RunError
from edgeinfer_browser.tensors import Tensor

Feeds = Mapping[str, Tensor]


class Backend(Protocol):
    """One way to run one model. ``load`` before ``run``; ``close`` is final and never fails."""

    tier: str
    dtype: str | None

    async def load(self) -> None:
        """Get ready. Raises BackendError, FetchError or DeadlineError when this tier cannot be."""

    async def run(self, feeds: Feeds) -> dict[str, Tensor]:
        """One run. Raises BackendError or DeadlineError when it does not end well."""

    async def run_many(self, batches: Sequence[Feeds]) -> list[dict[str, Tensor]]:
        """One run for each, in order; as many side by side as the tier has room for."""

    async def close(self) -> None:
        """Give everything back."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of one tier: loaded, refused before it was tried, or failed; ``seconds`` it took."""

    tier: str
    dtype: str | None
    ok: bool
    reason: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        name = self.tier if self.dtype is None else f"{self.tier} ({self.dtype})"
        return f"{name}: {'ok' if self.ok else self.reason}"


def require_finite(outputs: Mapping[str, Tensor], tier: str) -> None:
    """Refuse NaN and infinity, which a broken GPU kernel or an fp16 overflow gives instead of an error.

    Raises:
        RunError: naming the tier and the output.
    """
    for name, tensor in outputs.items():
        if tensor.dtype.startswith("float") and not all(map(math.isfinite, tensor.values())):
            raise RunError(f"The {tier} tier gave values in {name!r} that are not finite.", tier=tier, output=name)
