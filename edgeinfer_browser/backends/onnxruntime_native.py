"""Native ONNX Runtime on CPython: the ``native`` tier, the API tier's engine, and the reference for golden samples."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgeinfer_browser.backends.base import Feeds, require_finite
from edgeinfer_browser.cache import ModelFolder, OnDownload
from edgeinfer_browser.errors import RunError, SessionError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.tensors import Tensor

if TYPE_CHECKING:
    import onnxruntime


class OnnxRuntimeNative:
    """A model on CPUExecutionProvider; runs happen in a thread, one at a time a call."""

    def __init__(
        self, folder: ModelFolder, manifest: ModelManifest, dtype: str, on_download: OnDownload | None = None
    ) -> None:
        self.tier = "native"
        self.dtype: str | None = dtype
        self._folder = folder
        self._variant = manifest.variant(dtype)
        self._outputs = manifest.wanted_outputs
        self._on_download = on_download
        self._session: onnxruntime.InferenceSession | None = None

    async def load(self) -> None:
        """Verify the model's files and create the session.

        Raises:
            SessionError: when ONNX Runtime refuses the file, with its message.
        """
        files = await self._folder.fetch(self._variant, self._on_download)
        self._session = await asyncio.to_thread(create_session, files[0][1])

    @property
    def session(self) -> onnxruntime.InferenceSession:
        """The InferenceSession, for its inputs and outputs.

        Raises:
            SessionError: before ``load`` and after ``close``.
        """
        if self._session is None:
            raise SessionError("The native session is not loaded, or was closed.", tier=self.tier)
        return self._session

    async def run(self, feeds: Feeds, outputs: Sequence[str] = ()) -> dict[str, Tensor]:
        """One run, in a thread; for the outputs named, or those that the manifest's tasks read."""
        answered = await asyncio.to_thread(self._run, feeds, outputs or self._outputs)
        require_finite(answered, self.tier)
        return answered

    async def run_many(self, batches: Sequence[Feeds]) -> list[dict[str, Tensor]]:
        """One run each: int8 scales activations by what is in the batch, so a batch would change the answers."""
        return [await self.run(feeds) for feeds in batches]

    async def close(self) -> None:
        """Drop the session."""
        self._session = None

    def _run(self, feeds: Feeds, outputs: Sequence[str]) -> dict[str, Tensor]:
        names = outputs or [output.name for output in self.session.get_outputs()]
        # A plain folder does not say that its graph wants no token_type_ids.
        inputs = [each.name for each in self.session.get_inputs()]
        try:
            values = self.session.run(names, {name: feeds[name].numpy() for name in inputs if name in feeds})
        except Exception as error:  # its classes share no base of their own
            raise RunError(f"Native ONNX Runtime rejected the run: {error}", tier=self.tier) from error
        return {name: Tensor.from_numpy(value) for name, value in zip(names, values, strict=True)}


def create_session(model: str | bytes, threads: int = 0) -> onnxruntime.InferenceSession:
    """An InferenceSession of a path or a serialized model on the CPU, without ONNX Runtime's own log lines.

    Args:
        model: a path, or the model itself.
        threads: when EDGEINFER_NUM_THREADS does not say; 0 is ONNX Runtime's default, one for each core.

    Raises:
        SessionError: when ONNX Runtime refuses the file, with its message.
    """
    import onnxruntime

    # The project promises that nothing leaves the machine, and a library's usage events would.
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = int(os.environ.get("EDGEINFER_NUM_THREADS", threads))
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above
        name = model if isinstance(model, str) else "the model in memory"
        raise SessionError(f"Native ONNX Runtime refuses {name}: {error}", path=name) from error
