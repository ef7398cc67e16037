"""pipeline(): from a task, a model folder and a wish to something that can be awaited with a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, Required, TypedDict, Unpack, overload

from edgeinfer_browser.backends import Attempt, Chain, Resolution, resolve
from edgeinfer_browser.bridge import Bridge, Notice, default_bridge
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.capabilities import detect
from edgeinfer_browser.errors import ManifestError, UnknownNameError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.pipelines.base import Info, LastCall, Pipeline, Runner
from edgeinfer_browser.pipelines.feature_extraction import FeatureExtractionPipeline
from edgeinfer_browser.pipelines.text import TextPipeline
from edgeinfer_browser.pipelines.text_classification import TextClassificationPipeline
from edgeinfer_browser.policy import Policy
from edgeinfer_browser.telemetry import Outlet, Sink
from edgeinfer_browser.tokenizers import TokenizerLike, model_tokenizer

__all__ = [
    "TASKS",
    "FeatureExtractionPipeline",
    "Info",
    "LastCall",
    "Pipeline",
    "TextClassificationPipeline",
    "TextPipeline",
    "pipeline",
    "require_task",
]

#: task -> pipeline class. "sentiment-analysis" is Hugging Face's old name for text classification.
TASKS: Mapping[str, type[TextPipeline]] = {
    "feature-extraction": FeatureExtractionPipeline,
    "sentiment-analysis": TextClassificationPipeline,
    "text-classification": TextClassificationPipeline,
}

#: Called with ``{"stage", "message"}`` and, for downloads, ``{"loaded", "total"}`` in bytes.
OnProgress = Callable[[dict[str, Any]], None]


class Options(TypedDict, total=False):
    """What :func:`pipeline` takes beside the task, for type checkers."""

    model: Required[str]
    api: str | None
    policy: str
    tier: str | None
    dtype: str | None
    head: str | None
    while_loading: Literal["wait", "api"]
    on_progress: OnProgress | None
    on_metric: Sink | None
    bridge: Bridge | None


@overload
async def pipeline(
    task: Literal["text-classification", "sentiment-analysis"], **options: Unpack[Options]
) -> TextClassificationPipeline: ...
@overload
async def pipeline(task: Literal["feature-extraction"], **options: Unpack[Options]) -> FeatureExtractionPipeline: ...
@overload
async def pipeline(task: str, **options: Unpack[Options]) -> Any: ...
async def pipeline(
    task: str,
    *,
    model: str,
    api: str | None = None,
    policy: str = "prefer-local",
    tier: str | None = None,
    dtype: str | None = None,
    head: str | None = None,
    while_loading: Literal["wait", "api"] = "wait",
    on_progress: OnProgress | None = None,
    on_metric: Sink | None = None,
    bridge: Bridge | None = None,
) -> TextPipeline:
    """A pipeline that is ready to be called: the same lines in Pyodide and on CPython.

    Args:
        task: ``"text-classification"`` or ``"feature-extraction"``.
        model: URL of a model folder (on CPython also a path): one that ``edgeinfer pack`` made, or a plain Hugging
            Face one.
        api: base URL of the API tier, or None for local tiers only.
        policy: a preset: ``prefer-local``, ``only-local``, ``prefer-remote``, ``only-remote``, ``fastest``, ``strict``.
        tier: force one tier: ``webgpu``, ``wasm``, ``native`` (CPython) or ``api``.
        dtype: force one dtype: ``fp32``, ``fp16``, ``q8``, ``q4``, ``q4f16``.
        head: the classifier to ask, of a model that has several; None is its first.
        while_loading: ``"api"`` answers from the API until the local tier is ready; the default sends no text.
        on_progress: called with a dict at each step and during downloads.
        on_metric: called with an :class:`~edgeinfer_browser.telemetry.InferenceMetric` as each call ends.
        bridge: the host to use; the default is the one this Python runs in.

    Raises:
        UnknownNameError: for a name that does not exist; the message lists those that do.
        FetchError, ModelError: when the model folder cannot be read.
        NoBackendError: when no tier can be had; the message lists every refusal and attempt.
    """
    if task not in TASKS:
        raise UnknownNameError.of("task", task, TASKS)
    if while_loading not in ("wait", "api"):
        raise UnknownNameError.of("while_loading", while_loading, ("wait", "api"))
    wish = Policy.of(policy, tier=tier, dtype=dtype)
    host = bridge or default_bridge()
    tell = _teller(on_progress)
    metrics = Outlet(on_metric, lambda notice: tell({"stage": "notice", **notice.to_json()}))
    resolution, tokenizer, settings = await _prepare(task, model, api, head, host, tell)
    runner = await _start(resolution, wish, while_loading, tell)
    made = TASKS[task](runner, resolution.manifest, resolution.capabilities, tokenizer, **settings)
    made.notices = resolution.folder.notices
    made.metrics = metrics
    return made


def require_task(task: str, manifest: ModelManifest) -> None:
    """Refuse a model that cannot do a task.

    Raises:
        ManifestError: saying what the model is for.
    """
    if reason := TASKS[task].refusal(manifest):
        raise ManifestError(reason, model=manifest.name, task=task)


async def _prepare(
    task: str, model: str, api: str | None, head: str | None, host: Bridge, tell: OnProgress
) -> tuple[Resolution, TokenizerLike, dict[str, Any]]:
    tell({"stage": "probe", "message": "Looking at what this device can do"})
    capabilities = await detect(host)
    tell({"stage": "model", "message": f"Reading the model folder {model}"})

    def on_notice(notice: Notice) -> None:
        tell({"stage": "notice", **notice.to_json()})

    folder = await ModelFolder.at(model, host, on_notice)
    manifest = await folder.manifest(TASKS[task].task)
    require_task(task, manifest)
    settings = await TASKS[task].settings(folder, manifest, head)
    tokenizer = model_tokenizer(await folder.read("tokenizer.json", manifest), manifest.max_length)

    def on_download(url: str, loaded: int, total: int) -> None:
        tell({"stage": "model", "message": f"Fetching {url}", "loaded": loaded, "total": total})

    base = None if api is None else await host.absolute_url(api if api.endswith("/") else f"{api}/")
    return Resolution(host, folder, manifest, capabilities, base, on_download), tokenizer, settings


async def _start(resolution: Resolution, wish: Policy, while_loading: str, tell: OnProgress) -> Runner:
    def on_attempt(attempt: Attempt) -> None:
        tell({"stage": "ready" if attempt.ok else "attempt", "message": str(attempt)})

    async def load() -> Chain:
        return await resolve(resolution, wish, on_attempt)

    # A policy or a forced tier without the API keeps the text here while loading, too.
    if while_loading == "wait" or resolution.api is None or "api" not in wish.tiers[1:]:
        return Runner(await load())
    runner = Runner(await resolve(resolution, replace(wish, tiers=("api",)), on_attempt))
    runner.replace_when_ready(load)
    return runner


def _teller(on_progress: OnProgress | None) -> OnProgress:
    return on_progress or (lambda _: None)
