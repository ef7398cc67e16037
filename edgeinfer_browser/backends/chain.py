"""Chain: the candidates in order, the one in use, and what became of the others.

Every call ends in one result, or in one error that lists every attempt. A tier whose run fails is closed and demoted,
and the same request runs on the next. The last tier goes back in line instead, to be loaded afresh at the next call: a
server that is down now may be up then, and a session that died is cured by a new worker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from edgeinfer_browser.backends.base import Attempt, Backend, Feeds
from edgeinfer_browser.backends.golden import prove
from edgeinfer_browser.errors import EdgeInferError, InputError, NoBackendError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.policy import Choice
from edgeinfer_browser.telemetry import CallRecord
from edgeinfer_browser.tensors import Tensor

T = TypeVar("T")

#: Attempts that are kept; a server that is down for days must not fill the memory.
_KEPT = 50

OnAttempt = Callable[[Attempt], None]


class Chain:
    """Backends in order of preference; ``attempts`` tells what became of each, oldest first."""

    def __init__(
        self,
        choice: Choice,
        backends: Sequence[Backend],
        manifest: ModelManifest,
        on_attempt: OnAttempt | None = None,
    ) -> None:
        self.attempts = [Attempt(refusal.tier, refusal.dtype, False, refusal.reason) for refusal in choice.refusals]
        self.current: Backend | None = None
        #: The backend that gave the latest answer: with calls side by side, not always the current one.
        self.answered: Backend | None = None
        #: What every error lists first: the refusals, and the tiers that were given up for good.
        self._given_up = list(self.attempts)
        self._closed = False
        #: The current backend was loaded and has not run yet.
        self._fresh = False
        self._waiting = list(backends)
        self._manifest = manifest
        self._on_attempt = on_attempt
        self._loading = asyncio.Lock()

    async def load(self) -> Backend:
        """The current backend, or else the first one that loads and proves itself.

        Raises:
            NoBackendError: when none does; its message lists every attempt.
        """
        return await self._load(list(self._given_up), CallRecord())

    async def run(self, feeds: Feeds, *, record: CallRecord | None = None) -> dict[str, Tensor]:
        """One run on the current backend, and on the next ones when it fails; ``record`` is told of each."""
        return await self._ask(lambda backend: backend.run(feeds), record or CallRecord())

    async def run_many(self, batches: Sequence[Feeds], *, record: CallRecord | None = None) -> list[dict[str, Tensor]]:
        """One run each, likewise."""
        return await self._ask(lambda backend: backend.run_many(batches), record or CallRecord())

    async def close(self) -> None:
        """Close the current backend; the chain has none after that."""
        backend, self.current = self.current, None
        self._closed = True
        if backend:
            await backend.close()

    async def _ask(self, question: Callable[[Backend], Awaitable[T]], record: CallRecord) -> T:
        failed = list(self._given_up)
        while True:
            backend = await self._load(failed, record)
            started = time.monotonic()
            record.tries(cold_start=self._fresh)
            self._fresh = False
            try:
                answer = await question(backend)
                self.answered = backend
                record.answered(backend.tier, backend.dtype)
                return answer
            except InputError:
                raise  # it would fail everywhere
            except EdgeInferError as error:
                attempt = self._record(backend, started, error)
                record.gave_way(backend.tier, error)
                failed.append(attempt)
                if await self._demote(backend, attempt):
                    raise _no_backend(failed) from error

    async def _load(self, failed: list[Attempt], record: CallRecord) -> Backend:
        if self.current and not self._loading.locked():
            return self.current
        async with self._loading:
            for left in range(len(self._waiting), 0, -1):
                if self.current or self._closed:
                    break
                await self._try(self._waiting.pop(0), failed, record, is_last=left == 1)
        if self.current is None:
            raise _no_backend(failed)
        return self.current

    async def _try(self, backend: Backend, failed: list[Attempt], record: CallRecord, *, is_last: bool) -> None:
        started = time.monotonic()
        record.tries()
        try:
            await backend.load()
            await prove(backend, self._manifest)
        except EdgeInferError as error:
            attempt = self._record(backend, started, error)
            record.gave_way(backend.tier, error)
            failed.append(attempt)
            await backend.close()
            self._put_back(backend, attempt, is_last=is_last)
            return
        except BaseException:  # cancelled: what it holds already goes back, and it may be tried again
            self._waiting.insert(0, backend)
            await backend.close()
            raise
        self._record(backend, started, None)
        if self._closed:  # while it was loading
            await backend.close()
        else:
            self.current = backend
            self._fresh = True

    def _put_back(self, backend: Backend, attempt: Attempt, *, is_last: bool) -> None:
        if is_last:
            self._waiting.append(backend)
        else:
            self._given_up.append(attempt)

    async def _demote(self, backend: Backend, attempt: Attempt) -> bool:
        """Close a backend whose run failed; True when it was the last one, which goes back in line."""
        is_last = not self._waiting
        if self.current is backend:  # else another request has seen to it already
            self.current = None
            self._put_back(backend, attempt, is_last=is_last)
            await backend.close()
            return is_last
        return False

    def _record(self, backend: Backend, started: float, error: EdgeInferError | None) -> Attempt:
        reason = "" if error is None else f"{type(error).__name__}: {error}"
        attempt = Attempt(backend.tier, backend.dtype, error is None, reason, time.monotonic() - started)
        self.attempts = [*self.attempts, attempt][-_KEPT:]
        if self._on_attempt:
            self._on_attempt(attempt)
        return attempt


def _no_backend(failed: Sequence[Attempt]) -> NoBackendError:
    lines = "\n".join(f"  {attempt}" for attempt in failed) or "  (there is none to try)"
    return NoBackendError(f"No tier gave an answer:\n{lines}", attempts=[attempt.to_json() for attempt in failed])
