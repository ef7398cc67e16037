"""Backends: the tiers behind one promise, and resolve(), which lines them up for a device, a model and a policy."""

from __future__ import annotations

from dataclasses import dataclass

from edgeinfer_browser.backends.base import Attempt, Backend, Feeds
from edgeinfer_browser.backends.chain import Chain, OnAttempt
from edgeinfer_browser.backends.fake import FakeBackend
from edgeinfer_browser.backends.fastest import Fastest
from edgeinfer_browser.backends.onnxruntime_web import OnnxRuntimeWeb
from edgeinfer_browser.backends.remote import Remote
from edgeinfer_browser.bridge import Bridge
from edgeinfer_browser.cache import ModelFolder, OnDownload
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.policy import Candidate, Policy, choose

__all__ = ["Attempt", "Backend", "Chain", "FakeBackend", "Feeds", "Resolution", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Everything a backend is made from."""

    bridge: Bridge
    folder: ModelFolder
    manifest: ModelManifest
    capabilities: Capabilities
    #: Base URL of the API tier, absolute and ending in "/", or None.
    api: str | None = None
    on_download: OnDownload | None = None

    def backend(self, candidate: Candidate) -> Backend:
        """The backend of one candidate, not loaded."""
        if candidate.tier == "api":
            return Remote(self.bridge, self.api or "/", self.folder.name, self.manifest)
        dtype = candidate.dtype or ""
        if candidate.tier == "native":
            # Loaded late: it needs numpy and onnxruntime, which a browser has not.
            from edgeinfer_browser.backends.onnxruntime_native import OnnxRuntimeNative

            return OnnxRuntimeNative(self.folder, self.manifest, dtype, self.on_download)
        return OnnxRuntimeWeb(
            self.bridge, self.folder, self.manifest, candidate.tier, dtype, self.capabilities, self.on_download
        )


async def resolve(resolution: Resolution, policy: Policy, on_attempt: OnAttempt | None = None) -> Chain:
    """Choose the candidates and load the first that proves itself.

    Raises:
        NoBackendError: when there is none; its message lists every refusal and attempt.
    """
    choice = choose(resolution.capabilities, resolution.manifest, policy, api=resolution.api is not None)
    if policy.measure:
        choice = await Fastest(resolution.bridge, resolution.manifest, resolution.capabilities).order(
            choice, resolution.backend
        )
    chain = Chain(choice, [resolution.backend(c) for c in choice.candidates], resolution.manifest, on_attempt)
    await chain.load()
    return chain
