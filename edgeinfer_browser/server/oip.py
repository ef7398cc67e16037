"""The Open Inference Protocol v2 (KServe) with the binary tensor data extension (Triton), in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.server.answers import Json, endpoint
from edgeinfer_browser.server.limits import Limits, check_batch, read_body
from edgeinfer_browser.server.models import ServedModel, find_model
from edgeinfer_browser.server.ports import check_feeds, find
from edgeinfer_browser.wire import HEADER_LENGTH, infer_response, parse_message


def routes(models: Mapping[str, ServedModel], limits: Limits) -> list[Route]:
    """The protocol's routes, each of a model's with and without ``/versions/{version}``."""

    def named(request: Request) -> ServedModel:
        return find_model(models, request.path_params["model"], request.path_params.get("version"))

    async def server(_request: Request) -> Response:
        extensions = ["binary_tensor_data"]
        return Json({"name": "edgeinfer_browser", "version": _version(), "extensions": extensions})

    async def live(_request: Request) -> Response:
        return Json({"live": True})

    async def ready(_request: Request) -> Response:
        # No request is taken before every model is loaded and proved, so there is no "not yet".
        return Json({"ready": True})

    async def model_ready(request: Request) -> Response:
        return Json({"name": named(request).name, "ready": True})

    async def model_metadata(request: Request) -> Response:
        return Json(named(request).metadata())

    async def infer(request: Request) -> Response:
        return await _infer(named(request), request, limits)

    made = [
        endpoint("/v2", "GET", server),
        endpoint("/v2/health/live", "GET", live),
        endpoint("/v2/health/ready", "GET", ready),
    ]
    for base in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
        made += [
            endpoint(base, "GET", model_metadata),
            endpoint(f"{base}/ready", "GET", model_ready),
            endpoint(f"{base}/infer", "POST", infer),
        ]
    return made


async def _infer(model: ServedModel, request: Request, limits: Limits) -> Response:
    body = await read_body(request, limits)
    head, feeds = parse_message(body, request.headers.get(HEADER_LENGTH), "inputs")
    request_id = head.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise InputError(f'"id" must be a string, not {request_id!r:.40}.')
    model.check_revision(_parameters(head, "The request").get("revision"))
    wanted = _wanted(head, model)
    check_feeds(feeds, model.inputs)
    for name, tensor in feeds.items():
        check_batch(tensor.dims[0] if tensor.dims else 1, f"Input {name!r}", limits)
    with model.queue.admit():
        outputs = await model.session.run(feeds, tuple(wanted))
    answer, headers = infer_response(
        {name: outputs[name] for name in wanted},
        frozenset(name for name, binary in wanted.items() if binary),
        model_name=model.name,
        model_version=model.manifest.revision,
        request_id=request_id,
    )
    return Response(answer, headers=headers | model.headers)


def _wanted(head: Mapping[str, Any], model: ServedModel) -> dict[str, bool]:
    """The outputs that were asked for, all when none is named, in order; True for those to send as bytes."""
    default = _parameters(head, "The request").get("binary_data_output", False)
    entries = head.get("outputs") or [{"name": port.name} for port in model.outputs]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError('"outputs" must be a list of objects.')
    wanted = {}
    for entry in entries:
        name = find(entry.get("name"), model.outputs, "output").name
        parameters = _parameters(entry, f"Output {name!r}")
        if "classification" in parameters:
            raise InputError(f"Output {name!r}: the classification extension is not served. Use /predict.", name=name)
        wanted[name] = _flag(parameters.get("binary_data", default), name)
    return wanted


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"Whether output {name!r} is binary must be true or false, not {value!r:.40}.", name=name)
    return value


def _parameters(entry: Mapping[str, Any], what: str) -> dict[str, Any]:
    parameters = entry.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        raise InputError(f'{what}: "parameters" must be an object, not {parameters!r:.40}.')
    return parameters


def _version() -> str:
    try:
        return metadata.version("edgeinfer-browser")
    except metadata.PackageNotFoundError:  # run from a folder that was never installed
        return "unknown"
