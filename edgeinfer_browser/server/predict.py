"""``POST /predict``: text in, labels or embeddings out, for pages that fetch neither Python nor a model.

``{"inputs": str | [str], "model"?: str, "task"?: str, "revision"?: str, "parameters"?: {...}}`` gives what the task
makes of a text, or a list of that for a list: ``[{"label", "score"}]`` for ``text-classification`` (``top_k`` and
``head``), ``[float]`` for ``feature-extraction`` (``normalize``); with the parameter ``all_heads`` true it is
``{"embedding", "heads"}``. The default task is what the model was packed for.

It is the package's own pipeline on the session that ``/v2`` runs on. Texts run one by one, so no answer depends on what
else was sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.pipelines import TASKS, TextPipeline
from edgeinfer_browser.pipelines.base import read_texts
from edgeinfer_browser.server.answers import Json, endpoint
from edgeinfer_browser.server.limits import Limits, check_batch, read_body
from edgeinfer_browser.server.models import ServedModel, find_model

_FIELDS = ("inputs", "model", "parameters", "revision", "task")

#: From texts to what each gives.
Question = Callable[[list[str]], Awaitable[list[Any]]]

#: Texts that are tokenized without giving way to other requests.
_CHUNK = 16


def routes(models: Mapping[str, ServedModel], limits: Limits) -> list[Route]:
    """The one route. Bad inputs are 422 there: the body was JSON, its content is what is wrong."""

    async def predict(request: Request) -> Response:
        asked = _read(await read_body(request, limits))
        model = _model(models, asked.get("model"))
        model.check_revision(asked.get("revision"))
        if isinstance(asked["inputs"], list):
            check_batch(len(asked["inputs"]), '"inputs"', limits)
        ask = _question(_pipeline(model, asked.get("task")), asked.get("parameters") or {})
        with model.queue.admit():
            results = await _each(ask, asked["inputs"])
        return Json(results, headers=model.headers)

    return [endpoint("/predict", "POST", predict, bad_input=422)]


def _pipeline(model: ServedModel, task: object) -> TextPipeline:
    """The pipeline of a task; without one, of the model's own.

    Raises:
        InputError: when the model cannot do it, saying what it is for.
    """
    if not model.pipelines:
        raise InputError(f"Model {model.name!r} is for {model.manifest.task!r}, which /predict does not do.")
    if task is None:
        return model.pipelines[TASKS[model.manifest.task].task]
    if not isinstance(task, str) or task not in TASKS:
        raise UnknownNameError.of("task", task, TASKS)
    name = TASKS[task].task
    if name not in model.pipelines:
        raise InputError(TASKS[task].refusal(model.manifest))
    return model.pipelines[name]


def _question(pipeline: TextPipeline, parameters: Mapping[str, Any]) -> Question:
    """What is asked of each text: the task, or all heads."""
    options = dict(parameters)
    all_heads = options.pop("all_heads", False)
    if not isinstance(all_heads, bool):
        raise InputError(f'"all_heads" must be true or false, not {all_heads!r:.40}.')
    _check_names("parameter", options, ("top_k",) if all_heads else pipeline.options, ("all_heads",))
    ask = pipeline.all_heads if all_heads else pipeline

    async def question(texts: list[str]) -> list[Any]:
        return list(await ask(texts, **options))

    return question


async def _each(ask: Question, inputs: object) -> Any:
    texts = read_texts(inputs)
    results: list[Any] = []
    # At least one call, so that the parameters are checked for an empty list too.
    for at in range(0, max(len(texts), 1), _CHUNK):
        results += await ask(texts[at : at + _CHUNK])
        await asyncio.sleep(0)
    return results[0] if isinstance(inputs, str) else results


def _read(body: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"The body is not JSON: {error}.") from error
    if not isinstance(asked, dict):
        raise InputError(f'The body must be an object with "inputs", not a JSON {type(asked).__name__}.')
    _check_names("field", asked, _FIELDS)
    if "inputs" not in asked:
        raise InputError('The body has no "inputs": a text or a list of texts.')
    parameters = asked.get("parameters")
    if not isinstance(parameters, dict | None):
        raise InputError(f'"parameters" must be an object, not {parameters!r:.40}.')
    return asked


def _check_names(kind: str, given: Mapping[str, Any], known: tuple[str, ...], also: tuple[str, ...] = ()) -> None:
    # An option that is not known would change the answer without a word if it were passed over.
    for name in given:
        if name not in known:
            raise UnknownNameError.of(kind, name, (*known, *also))


def _model(models: Mapping[str, ServedModel], name: object) -> ServedModel:
    if name is None:
        if len(models) == 1:
            return next(iter(models.values()))
        raise InputError(f'Several models are served; name one as "model": {", ".join(models)}.')
    if not isinstance(name, str):
        raise InputError(f'"model" must be a string, not {name!r:.40}.')
    return find_model(models, name)
