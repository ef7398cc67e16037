"""Answers: JSON always, an error as ``{"error": message}``, and the status that each of our errors becomes.

What a client sent is never logged. A failure that is our own is logged as class and place, without its message.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from edgeinfer_browser.errors import EdgeInferError, InputError

Handler = Callable[[Request], Awaitable[Response]]

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_log = logging.getLogger(__name__)


class Json(Response):
    """JSON in ASCII, so that a lone surrogate in a message travels as an escape instead of failing to encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        return json.dumps(content).encode()


def error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Json:
    """``{"error": message}`` with a status."""
    return Json({"error": message}, status, headers)


async def on_http_exception(_request: Request, exception: Exception) -> Response:
    """What Starlette calls for its own refusals (404, 405) and for ours."""
    assert isinstance(exception, HTTPException)
    return error(exception.status_code, exception.detail, exception.headers)


def endpoint(path: str, method: str, handler: Handler, *, bad_input: int = 400) -> Route:
    """A route for one method (GET takes HEAD too) that answers every failure; ``bad_input`` is InputError's status."""
    allowed = ("GET", "HEAD") if method == "GET" else (method,)

    async def answer(request: Request) -> Response:
        if request.method not in allowed:
            # Said here, because a site mounted behind this route would else answer 404.
            return error(405, f"{request.url.path} takes {method} only.", {"Allow": ", ".join(allowed)})
        return await _guarded(handler, request, bad_input)

    return Route(path, answer, methods=_METHODS)


async def _guarded(handler: Handler, request: Request, bad_input: int) -> Response:
    try:
        return await handler(request)
    except HTTPException:
        raise
    except InputError as failure:
        return error(bad_input, failure.message)
    except EdgeInferError as failure:
        return error(500, failure.message)
    except ClientDisconnect:
        return error(400, "The client left before its request was complete.")
    except Exception as failure:  # noqa: BLE001 - the last resort of a server: one request fails, the others do not
        _log.error("%s\n%s", type(failure).__name__, "".join(traceback.format_tb(failure.__traceback__)))
        return error(500, "The server failed at this request, by a fault of its own.")
