"""onnxruntime-web, through the bridge: the ``webgpu`` and ``wasm`` tiers (one class, as they are one in ONNX Runtime).

Each session lives in a worker of its own with one execution provider and one thread. On WASM a batch spreads over a
few sessions, which on CPU beats threads and needs no cross-origin isolation; on WebGPU there is one session, as runs
on one device may not overlap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

from edgeinfer_browser.backends.base import Feeds, require_finite
from edgeinfer_browser.backends.batching import BATCHED, merge, plan, split
from edgeinfer_browser.bridge import Bridge, SessionSpec
from edgeinfer_browser.cache import ModelFolder, OnDownload
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import EdgeInferError, SessionError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.tensors import Tensor

#: Seconds that a worker, the runtime (14 to 27 MB) and a session may take to start.
CREATE_SECONDS = 120.0
#: Seconds that one run may take.
RUN_SECONDS = 60.0
#: Sessions a batch may spread over, and the batch size from which another session is worth its start-up.
MOST_SESSIONS = 4
RUNS_PER_SESSION = 8

#: The one build each tier needs: (module, .wasm). The JSPI build for WebGPU is 10 MB smaller than the asyncify one.
WASM_BUILD = ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm")
JSPI_BUILD = ("ort.jspi.bundle.min.mjs", "ort-wasm-simd-threaded.jspi.wasm")
ASYNCIFY_BUILD = ("ort.webgpu.bundle.min.mjs", "ort-wasm-simd-threaded.asyncify.wasm")


class OnnxRuntimeWeb:
    """A model on one execution provider of onnxruntime-web; ``tier`` is the provider's name."""

    def __init__(
        self,
        bridge: Bridge,
        folder: ModelFolder,
        manifest: ModelManifest,
        tier: str,
        dtype: str,
        capabilities: Capabilities,
        on_download: OnDownload | None = None,
    ) -> None:
        self.tier = tier
        self.dtype: str | None = dtype
        self._bridge = bridge
        self._folder = folder
        self._variant = manifest.variant(dtype)
        self._outputs = manifest.wanted_outputs
        self._capabilities = capabilities
        self._on_download = on_download
        self._sessions: list[int] = []
        self._spec: SessionSpec | None = None
        self._input_names: frozenset[str] = frozenset()

    async def load(self) -> None:
        """Fetch and verify the model's files, then create the first session."""
        files = await self._folder.fetch(self._variant, self._on_download)
        runtime = await self._bridge.runtime_url()
        module, wasm = _build(self.tier, self._capabilities)
        self._spec = SessionSpec(
            execution_provider=self.tier,
            module_url=f"{runtime}ort/{module}",
            wasm_url=f"{runtime}ort/{wasm}",
            files=files,
            timeout=CREATE_SECONDS,
            outputs=self._outputs,
        )
        await self._add_session()

    async def run(self, feeds: Feeds) -> dict[str, Tensor]:
        """One run on the first session."""
        if not self._sessions:
            raise SessionError(f"The {self.tier} session is not loaded, or was closed.", tier=self.tier)
        return await self._run_on(self._sessions[0], feeds)

    async def time_session(self, feeds: Feeds, runs: int) -> list[float]:
        """Milliseconds of each of ``runs`` runs, as JavaScript in the session's worker sees them; for benchmarks."""
        return await self._bridge.time_session(self._sessions[0], self._wanted(feeds), runs=runs, timeout=RUN_SECONDS)

    async def run_many(self, batches: Sequence[Feeds]) -> list[dict[str, Tensor]]:
        """Each text alone over a few sessions on WASM; batches of like length on WebGPU."""
        if self.tier == "webgpu" and self.dtype in BATCHED:
            return await self._run_batches(batches)
        await self._grow(len(batches))
        results: list[dict[str, Tensor]] = [{} for _ in batches]
        waiting = iter(enumerate(batches))

        async def drain(session: int) -> None:
            for index, feeds in waiting:  # shared: each session takes the next one that nobody has
                results[index] = await self._run_on(session, feeds)

        await _all([drain(session) for session in self._sessions])
        return results

    async def _run_batches(self, feeds: Sequence[Feeds]) -> list[dict[str, Tensor]]:
        results: list[dict[str, Tensor]] = [{} for _ in feeds]
        for group in plan(feeds):
            outputs = await self.run(merge([feeds[index] for index in group]))
            for index, output in zip(group, split(outputs), strict=True):
                results[index] = output
        return results

    async def close(self) -> None:
        """End every session's worker."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            await self._bridge.release(session)

    async def _run_on(self, session: int, feeds: Feeds) -> dict[str, Tensor]:
        outputs = await self._bridge.run(session, self._wanted(feeds), timeout=RUN_SECONDS)
        require_finite(outputs, self.tier)
        return outputs

    def _wanted(self, feeds: Feeds) -> Feeds:
        """The feeds that the graph has an input for: a plain folder does not say that it wants no token_type_ids."""
        return {name: tensor for name, tensor in feeds.items() if name in self._input_names}

    async def _add_session(self) -> None:
        if self._spec is None:
            raise SessionError(f"The {self.tier} tier is not loaded.", tier=self.tier)
        session, made = await self._bridge.create_session(self._spec)
        self._input_names = frozenset(made["inputNames"])
        self._sessions.append(session)

    async def _grow(self, runs: int) -> None:
        if not self._sessions:
            raise SessionError(f"The {self.tier} session is not loaded, or was closed.", tier=self.tier)
        room = min(MOST_SESSIONS, self._capabilities.cores or 1) if self.tier == "wasm" else 1
        try:
            while len(self._sessions) < min(room, 1 + runs // RUNS_PER_SESSION):
                await self._add_session()
        except EdgeInferError:
            return  # a second session is a convenience: the first one has room for all runs


def _build(tier: str, capabilities: Capabilities) -> tuple[str, str]:
    if tier == "wasm":
        return WASM_BUILD
    return JSPI_BUILD if capabilities.wasm_jspi else ASYNCIFY_BUILD


async def _all(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Wait for all; the first failure cancels the rest and is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
