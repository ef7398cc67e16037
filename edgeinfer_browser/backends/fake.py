"""FakeBackend: a public test double that computes its answers from the feeds, in no time and without a runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgeinfer_browser.backends.base import Feeds
from edgeinfer_browser.errors import EdgeInferError, RunError
from edgeinfer_browser.tensors import Tensor

Answer = Callable[[Feeds], dict[str, Tensor]]


class FakeBackend:
    """Answers with ``answer(feeds)``; ``load_error`` refuses to load, ``run_errors`` are raised by the next runs.

    Example:
        >>> one = Tensor.from_values("float32", [1, 2], [0.0, 1.0])
        >>> FakeBackend("wasm", lambda feeds: {"logits": one}).tier
        'wasm'
    """

    def __init__(
        self,
        tier: str,
        answer: Answer | None = None,
        *,
        dtype: str | None = None,
        load_error: EdgeInferError | None = None,
        run_errors: Sequence[EdgeInferError] = (),
    ) -> None:
        self.tier = tier
        self.dtype = dtype
        self.calls: list[Feeds] = []
        self.closed = False
        self._answer = answer
        self._load_error = load_error
        self._run_errors = list(run_errors)

    async def load(self) -> None:
        """Load, or refuse with ``load_error``."""
        if self._load_error:
            raise self._load_error

    async def run(self, feeds: Feeds) -> dict[str, Tensor]:
        """The next of ``run_errors``, else the answer."""
        self.calls.append(feeds)
        if self._run_errors:
            raise self._run_errors.pop(0)
        if self._answer is None:
            raise RunError("This FakeBackend was given no answer.")
        return self._answer(feeds)

    async def run_many(self, batches: Sequence[Feeds]) -> list[dict[str, Tensor]]:
        """``run`` for each."""
        return [await self.run(feeds) for feeds in batches]

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True
