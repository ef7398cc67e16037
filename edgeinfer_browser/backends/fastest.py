"""The ``fastest`` preset: time the local tiers on a golden sample, once per device and model, and remember who won.

Runs are few and after a warm-up. What is remembered is keyed by the model's revision and what the device says of
itself, so another model, another adapter or another number of cores is measured anew.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable

from edgeinfer_browser.backends.base import Backend
from edgeinfer_browser.backends.golden import prove
from edgeinfer_browser.bridge import Bridge
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import EdgeInferError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.policy import LOCAL_TIERS, Candidate, Choice

#: Timed runs of each tier; the median counts.
RUNS = 5


class Fastest:
    """Puts the local candidates of a choice in order of measured latency; the others keep their places behind."""

    def __init__(self, bridge: Bridge, manifest: ModelManifest, capabilities: Capabilities) -> None:
        self._bridge = bridge
        self._manifest = manifest
        device = json.dumps([capabilities.adapter, capabilities.cores, capabilities.device_memory, capabilities.host])
        self._key = "fastest:" + hashlib.sha256(f"{manifest.revision}{device}".encode()).hexdigest()

    async def order(self, choice: Choice, make: Callable[[Candidate], Backend]) -> Choice:
        """The choice with its local candidates in order; unmeasured when there is nothing to measure with."""
        # What is advised against stays behind, however fast it is.
        local = [c for c in choice.candidates if c.tier in LOCAL_TIERS and c.advised]
        if len(local) < 2 or not self._manifest.golden_inputs:
            return choice
        seconds = await self._recall()
        if not seconds.keys() >= {_name(c) for c in local}:
            seconds = await self._measure(local, make)
        ranked = sorted(local, key=lambda c: seconds[_name(c)])
        others = [c for c in choice.candidates if c not in local]
        return Choice((*ranked, *others), choice.refusals)

    async def _recall(self) -> dict[str, float]:
        note = await self._bridge.recall(self._key)
        try:
            seconds: dict[str, float] = {name: float(value) for name, value in json.loads(note or "{}").items()}
        except (ValueError, TypeError, AttributeError):
            return {}  # not a note of ours: measure again
        return seconds

    async def _measure(self, local: list[Candidate], make: Callable[[Candidate], Backend]) -> dict[str, float]:
        seconds = {}
        for candidate in local:
            backend = make(candidate)
            try:
                seconds[_name(candidate)] = await self._median(backend)
            except EdgeInferError:
                # It ranks last; the chain, which tries it again, records the reason.
                seconds[_name(candidate)] = float("inf")
            finally:
                await backend.close()
        await self._bridge.remember(self._key, json.dumps(seconds))
        return seconds

    async def _median(self, backend: Backend) -> float:
        await backend.load()
        await prove(backend, self._manifest)
        times = []
        for _ in range(RUNS):
            before = time.monotonic()
            await backend.run(self._manifest.golden_inputs[0])
            times.append(time.monotonic() - before)
        return statistics.median(times)


def _name(candidate: Candidate) -> str:
    return f"{candidate.tier}/{candidate.dtype}"
