"""Serve packed models as the API tier: the Open Inference Protocol v2 and /predict, on native ONNX Runtime."""

from __future__ import annotations

import argparse
from pathlib import Path

from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.server.limits import Limits
from edgeinfer_browser.server.run import Settings, serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    limits = Limits()
    parser.add_argument(
        "models", type=Path, help="a folder with packed models in it; each is served by its folder's name"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 takes a free one (default: 8000)")
    parser.add_argument(
        "--cors-origin", action="append", default=[], metavar="URL", help="an origin whose pages may call (repeatable)"
    )
    parser.add_argument("--site", type=Path, metavar="DIR", help="a folder to serve at /, cross-origin isolated")
    parser.add_argument("--api-prefix", default="/", metavar="PATH", help="path below which the API lies (default: /)")
    parser.add_argument("--dtype", choices=sorted(SUFFIXES), help="dtype to serve (default: q8, else fp32)")
    parser.add_argument(
        "--max-body-mb", type=_positive, default=limits.body_bytes // 2**20, help="MiB of a request (default: 8)"
    )
    parser.add_argument(
        "--max-batch",
        type=_positive,
        default=limits.batch,
        help=f"texts or rows of a request (default: {limits.batch})",
    )
    parser.add_argument(
        "--max-running", type=_positive, default=limits.running, help=f"runs at once (default: {limits.running})"
    )
    parser.add_argument(
        "--max-waiting", type=_positive, default=limits.waiting, help=f"requests that wait (default: {limits.waiting})"
    )
    parser.add_argument("--workers", type=_positive, default=1, help="processes, each with its models (default: 1)")


def main(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    limits = Limits(
        body_bytes=arguments.max_body_mb * 2**20,
        batch=arguments.max_batch,
        running=arguments.max_running,
        waiting=arguments.max_waiting,
    )
    return serve(
        Settings(
            models=arguments.models,
            host=arguments.host,
            port=arguments.port,
            cors_origins=tuple(arguments.cors_origin),
            site=arguments.site,
            api_prefix=arguments.api_prefix,
            dtype=arguments.dtype,
            limits=limits,
            workers=arguments.workers,
        )
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not 1 or more")
    return number
