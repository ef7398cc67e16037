"""Served models: every packed folder below ``models/``, each with one session that ``/v2`` and ``/predict`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from edgeinfer_browser.backends import Chain, Feeds
from edgeinfer_browser.backends.onnxruntime_native import OnnxRuntimeNative
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.capabilities import detect
from edgeinfer_browser.errors import ModelError, RunError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.pipelines import TASKS, TextPipeline
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.policy import DTYPES_BY_TIER, Candidate, Choice
from edgeinfer_browser.server.limits import Limits, Queue
from edgeinfer_browser.server.ports import Port
from edgeinfer_browser.telemetry import CallRecord
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import model_tokenizer
from edgeinfer_browser.wire import DTYPE_HEADER


class SharedSession(Chain):
    """A chain that keeps its backend once that has proved itself: a failed run here is about its feeds, not the tier.

    One client's bad request must not close the session under the others. Runs take turns in the model's queue.
    """

    def __init__(self, backends: Sequence[OnnxRuntimeNative], manifest: ModelManifest, queue: Queue) -> None:
        candidates = tuple(Candidate(backend.tier, backend.dtype) for backend in backends)
        super().__init__(Choice(candidates, ()), backends, manifest)
        self._queue = queue

    async def run(
        self, feeds: Feeds, outputs: Sequence[str] = (), *, record: CallRecord | None = None
    ) -> dict[str, Tensor]:
        """One run, when it is its turn; for the outputs named, or those that pipelines read."""
        async with self._queue.turn:
            current = self.current
            if current is None:
                raise RunError("The server is closing. Try again later.")
            assert isinstance(current, OnnxRuntimeNative)  # it was made of nothing else
            if record:
                record.tries()
            answer = await current.run(feeds, outputs)
            if record:
                record.answered(current.tier, current.dtype)
            return answer

    async def run_many(self, batches: Sequence[Feeds], *, record: CallRecord | None = None) -> list[dict[str, Tensor]]:
        """One run each; other requests come between them."""
        return [await self.run(feeds, record=record) for feeds in batches]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that is loaded; ``pipelines`` by task: what ``/predict`` can do with it, nothing for an image model."""

    name: str
    manifest: ModelManifest
    session: SharedSession
    queue: Queue
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    pipelines: Mapping[str, TextPipeline]

    def check_revision(self, revision: object) -> None:
        """Refuse to answer for another revision than the client knows; None is any.

        Raises:
            HTTPException: 409, naming both.
        """
        if revision not in (None, self.manifest.revision):
            raise HTTPException(
                409,
                f"Model {self.name!r} is served in revision {self.manifest.revision}, but the request is for "
                f"{revision!r:.80}. Load the model again, or serve the same folder on both sides.",
            )

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says of the file that gave it."""
        current = self.session.current
        return {DTYPE_HEADER: current.dtype} if current and current.dtype else {}

    def metadata(self) -> dict[str, Any]:
        """Model metadata of the Open Inference Protocol."""
        return {
            "name": self.name,
            "versions": [self.manifest.revision],
            "platform": "onnxruntime_onnx",
            "inputs": [port.to_json() for port in self.inputs],
            "outputs": [port.to_json() for port in self.outputs],
        }


def packed_folders(models: Path) -> list[Path]:
    """The subfolders that ``edgeinfer pack`` made, by name.

    Raises:
        ModelError: when there is none.
    """
    found = sorted(path.parent for path in models.glob("*/edgeinfer.json"))
    if found:
        return found
    if (models / "edgeinfer.json").exists():
        raise ModelError(f"{models} is itself a packed model. Give the folder that it lies in.")
    raise ModelError(
        f"{models} has no packed model (no subfolder with an edgeinfer.json). Make one with edgeinfer pack."
    )


async def load_models(models: Path, limits: Limits, dtype: str | None = None) -> dict[str, ServedModel]:
    """Load and prove each packed model, by the name of its folder.

    Raises:
        ModelError, FetchError, UnknownNameError, NoBackendError: when one cannot be served; none is left out silently.
    """
    return {folder.name: await _load(folder, limits, dtype) for folder in packed_folders(models)}


def find_model(models: Mapping[str, ServedModel], name: str, version: str | None = None) -> ServedModel:
    """The model of a name and, when one is given, a version.

    Raises:
        HTTPException: 404.
    """
    model = models.get(name)
    if model is None:
        raise HTTPException(404, f"There is no model {name!r} here. Served: {', '.join(models)}.")
    if version not in (None, model.manifest.revision):
        raise HTTPException(404, f"Model {name!r} has version {model.manifest.revision} only, not {version!r}.")
    return model


async def _load(path: Path, limits: Limits, dtype: str | None) -> ServedModel:
    bridge = NativeBridge()
    folder = await ModelFolder.at(str(path), bridge)
    manifest = await folder.manifest("")
    dtypes = [dtype] if dtype else _preferred(manifest)
    queue = Queue(limits)
    session = SharedSession([OnnxRuntimeNative(folder, manifest, each) for each in dtypes], manifest, queue)
    current = await session.load()
    assert isinstance(current, OnnxRuntimeNative)  # it was made of nothing else
    pipelines = await _pipelines(folder, manifest, session)
    inputs = tuple(map(Port.of, current.session.get_inputs()))
    outputs = tuple(map(Port.of, current.session.get_outputs()))
    return ServedModel(path.name, manifest, session, queue, inputs, outputs, pipelines)


def _preferred(manifest: ModelManifest) -> list[str]:
    return [dtype for dtype in DTYPES_BY_TIER["native"] if dtype in manifest.variants] or sorted(manifest.variants)


async def _pipelines(folder: ModelFolder, manifest: ModelManifest, session: SharedSession) -> dict[str, TextPipeline]:
    """One for each task that the model can do: an encoder with heads can embed and classify."""
    kinds = [kind for kind in dict.fromkeys(TASKS.values()) if not kind.refusal(manifest)]
    if manifest.task not in TASKS or not kinds:
        return {}
    tokenizer = model_tokenizer(await folder.read("tokenizer.json", manifest), manifest.max_length)
    device = await detect(folder.bridge)
    made = {}
    for kind in kinds:
        settings = await kind.settings(folder, manifest, None)
        made[kind.task] = kind(Runner(session), manifest, device, tokenizer, **settings)
    return made
