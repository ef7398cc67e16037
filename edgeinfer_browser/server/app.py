"""create_app(): the API tier as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.server import oip, predict
from edgeinfer_browser.server.answers import on_http_exception
from edgeinfer_browser.server.limits import Limits
from edgeinfer_browser.server.models import ServedModel, load_models
from edgeinfer_browser.server.site import Site
from edgeinfer_browser.wire import DTYPE_HEADER, HEADER_LENGTH


def create_app(
    models: Path,
    *,
    cors_origins: Sequence[str] = (),
    limits: Limits | None = None,
    site: Path | None = None,
    api_prefix: str = "/",
    dtype: str | None = None,
) -> Starlette:
    """The application; it loads the models when it starts up (ASGI lifespan), and takes no request before.

    Args:
        models: a folder with packed models in it; each is served under its folder's name.
        cors_origins: origins whose pages may call the API, e.g. ``https://app.example``; none by default.
        limits: how much a request may hold and how many may wait.
        site: a folder to serve at "/", cross-origin isolated.
        api_prefix: the path below which the API lies.
        dtype: the dtype to serve; by default q8, or fp32 where there is no q8.

    Raises:
        InputError: when ``site`` is not a folder.
    """
    bounds = limits or Limits()
    served: dict[str, ServedModel] = {}

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        served.update(await load_models(models, bounds, dtype))
        yield
        for model in served.values():
            await model.session.close()

    app = Starlette(
        routes=_routes(served, bounds, api_prefix, site),
        middleware=_cors(cors_origins),
        exception_handlers={HTTPException: on_http_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.models = served
    return app


def prefix_of(path: str) -> str:
    """A path prefix without its last slash: ``"api"`` and ``"/api/"`` give ``"/api"``, ``"/"`` gives ``""``."""
    inner = path.strip("/")
    return f"/{inner}" if inner else ""


def _routes(models: Mapping[str, ServedModel], limits: Limits, api_prefix: str, site: Path | None) -> list[BaseRoute]:
    api: list[BaseRoute] = [*oip.routes(models, limits), *predict.routes(models, limits)]
    prefix = prefix_of(api_prefix)
    routes: list[BaseRoute] = [Mount(prefix, routes=api)] if prefix else api
    if site is None:
        return routes
    if not site.is_dir():
        raise InputError(f"There is no folder {site} to serve as the site.")
    return [*routes, Mount("/", app=Site(site))]


def _cors(origins: Sequence[str]) -> list[Middleware]:
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "OPTIONS"],
            allow_headers=["Content-Type", HEADER_LENGTH],
            expose_headers=[HEADER_LENGTH, DTYPE_HEADER, "Retry-After"],
        )
    ]
