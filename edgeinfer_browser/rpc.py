"""What the page's client calls through the Python worker: JSON in, JSON out, pipelines by number.

``handle`` never raises: an error crosses as ``{name, message, details}`` and is rebuilt on the page. Names are
camelCase on that side and snake_case on this one; ``_OPTIONS`` is the list of what may cross. A call's metric crosses
beside its result or error, so that the page knows whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextvars import ContextVar
from typing import Any

from edgeinfer_browser.errors import InputError, UnknownNameError, to_fields
from edgeinfer_browser.pipelines import TextPipeline, pipeline
from edgeinfer_browser.telemetry import InferenceMetric

#: What the page may ask of ``pipeline()``; the names are the same on both sides.
_OPTIONS = ("task", "model", "api", "policy", "tier", "dtype", "head")

#: What the page may ask of a call: its name there -> its name here. Each pipeline has some of them.
_CALL_OPTIONS = {"topK": "top_k", "head": "head", "pooling": "pooling", "normalize": "normalize"}

#: The live pipelines. Numbers are the page's, so a progress event can name one that is still loading.
_pipelines: dict[int, TextPipeline] = {}

#: The metrics of the request that is being handled; requests are handled side by side.
_metrics: ContextVar[list[InferenceMetric]] = ContextVar("_metrics")


async def handle(method: str, params: str, emit: Callable[[str], None]) -> str:
    """Do one thing for the page; the answer is the JSON of ``{"result"}`` or ``{"error"}``, and a call's ``"metric"``.

    Args:
        method: ``load``, ``call``, ``allHeads``, ``dispose`` or ``bench``.
        params: the JSON of its parameters (``PageRequest`` in ``js_shim/protocol.d.ts``).
        emit: takes the JSON of an event for the page.
    """
    metrics: list[InferenceMetric] = []
    _metrics.set(metrics)
    answer: dict[str, Any]
    try:
        if method not in _METHODS:
            raise UnknownNameError.of("method", method, _METHODS)
        answer = {"result": await _METHODS[method](json.loads(params), emit)}
    except Exception as error:  # noqa: BLE001 - a defect of ours must not leave the page without an answer
        answer = {"error": to_fields(error)}
    if metrics:
        answer["metric"] = metrics[-1].to_json()
    return json.dumps(answer)


async def _load(params: dict[str, Any], emit: Callable[[str], None]) -> dict[str, Any]:
    number = params["pipeline"]
    options = {name: value for name, value in params["options"].items() if name in _OPTIONS}

    def on_progress(progress: dict[str, Any]) -> None:
        emit(json.dumps({"pipeline": number, "progress": progress}))

    on_metric = _keep_metric if params.get("metrics") else None
    _pipelines[number] = await pipeline(**options, on_progress=on_progress, on_metric=on_metric)
    return {"info": _pipelines[number].info.to_json()}


def _keep_metric(metric: InferenceMetric) -> None:
    _metrics.get().append(metric)


async def _call(params: dict[str, Any], _emit: object) -> dict[str, Any]:
    pipe = _find(params["pipeline"])
    result = await pipe(params["inputs"], **_call_options(params["options"], pipe.options))
    return _answer(pipe, result)


async def _all_heads(params: dict[str, Any], _emit: object) -> dict[str, Any]:
    pipe = _find(params["pipeline"])
    return _answer(pipe, await pipe.all_heads(params["inputs"], **_call_options(params["options"], ("top_k",))))


def _answer(pipe: TextPipeline, result: object) -> dict[str, Any]:
    # The page has the capabilities since load(), and they do not change.
    info = {name: value for name, value in pipe.info.to_json().items() if name != "capabilities"}
    return {"result": result, "info": info}


def _call_options(given: dict[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """The options by their names here. One that would change nothing is refused, not passed over."""
    for name in given:
        if _CALL_OPTIONS.get(name) not in taken:
            raise UnknownNameError.of("option", name, [known for known, here in _CALL_OPTIONS.items() if here in taken])
    return {_CALL_OPTIONS[name]: value for name, value in given.items()}


async def _dispose(params: dict[str, Any], _emit: object) -> dict[str, Any]:
    pipe = _pipelines.pop(params["pipeline"], None)
    if pipe:
        await pipe.close()
    return {}


async def _bench(params: dict[str, Any], _emit: object) -> dict[str, Any]:
    """Pairs of one whole call and its parts, in milliseconds, for ``edgeinfer bench latency``."""
    from edgeinfer_browser.benchmark import time_pairs

    return dict(await time_pairs(_find(params["pipeline"]), params["text"], params["pairs"]))


def _find(number: int) -> TextPipeline:
    pipe = _pipelines.get(number)
    if pipe is None:
        raise InputError(f"Pipeline {number} was disposed of. Load it again.", pipeline=number)
    return pipe


_METHODS = {"load": _load, "call": _call, "allHeads": _all_heads, "dispose": _dispose, "bench": _bench}
