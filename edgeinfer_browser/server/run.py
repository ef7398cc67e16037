"""serve(): the application on granian, in worker processes, with one line on stdout when it is ready."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import Interfaces
from starlette.applications import Starlette

from edgeinfer_browser.errors import EdgeInferError, InputError
from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.server.app import create_app, prefix_of
from edgeinfer_browser.server.limits import Limits
from edgeinfer_browser.server.models import packed_folders

#: Seconds that a worker gets to finish what it has begun when the server is told to stop.
STOP_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``edgeinfer serve`` takes; it travels to the worker processes."""

    models: Path
    host: str = "127.0.0.1"
    #: 0 is any free port.
    port: int = 8000
    cors_origins: tuple[str, ...] = ()
    site: Path | None = None
    api_prefix: str = "/"
    dtype: str | None = None
    limits: Limits = field(default_factory=Limits)
    workers: int = 1

    def app(self) -> Starlette:
        """The application."""
        return create_app(
            self.models,
            cors_origins=self.cors_origins,
            limits=self.limits,
            site=self.site,
            api_prefix=self.api_prefix,
            dtype=self.dtype,
        )


def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM; the exit code.

    Raises:
        EdgeInferError: when it cannot start: no packed model, no such dtype, no site, the port is taken.
    """
    if settings.dtype is not None and settings.dtype not in SUFFIXES:
        raise InputError(f"There is no dtype {settings.dtype!r}. Known: {', '.join(SUFFIXES)}.")
    packed_folders(settings.models)
    settings.app()
    address, port = _free_address(settings.host, settings.port)
    context: Any = multiprocessing.get_context()
    load = partial(_load, settings, address, port, context.Value("i", 0))
    server = Granian(
        "edgeinfer_browser.server",  # a name for messages; the application comes from target_loader
        address=address,
        port=port,
        interface=Interfaces.ASGI,
        workers=settings.workers,
        workers_kill_timeout=STOP_SECONDS,
        websockets=False,
        log_enabled=False,
    )
    try:
        server.serve(target_loader=load, wrap_loader=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def _free_address(host: str, port: int) -> tuple[str, int]:
    """The numeric address and port. granian shares ports between processes, so it would not notice one in use."""
    if not 0 <= port < 2**16:  # the resolver would take it modulo 65536
        raise InputError(f"{host}:{port} cannot be served on: ports are 0 (any free one) to 65535.", port=port)
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            bound = probe.getsockname()
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be served on: {error}. Choose another --host or --port (0: any free one).",
            host=host,
            port=port,
        ) from error
    return str(bound[0]), int(bound[1])


def _load(settings: Settings, address: str, port: int, started: Any) -> Starlette:
    """The application in a worker: it tells on stderr why it cannot start, and on stdout that all workers have."""
    app = settings.app()
    lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def told(inner: Starlette) -> AsyncIterator[Any]:
        try:
            async with lifespan(inner) as state:
                announcement = asyncio.ensure_future(_announce(settings, inner, address, port, started))
                yield state
                announcement.cancel()
        except EdgeInferError as error:
            print(f"edgeinfer serve: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            raise

    app.router.lifespan_context = told
    return app


async def _announce(settings: Settings, app: Starlette, address: str, port: int, started: Any) -> None:
    """Print the line once the last worker is up and a connection can be made."""
    with started.get_lock():
        started.value += 1
        if started.value != settings.workers:
            return
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(address, port)
            writer.close()
            break
        await asyncio.sleep(0.01)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    names = ", ".join(f"{name} ({model.session.current.dtype})" for name, model in app.state.models.items())
    print(f"Serving {names} at http://{host}:{port}/ with the API below {prefix_of(settings.api_prefix)}/", flush=True)
