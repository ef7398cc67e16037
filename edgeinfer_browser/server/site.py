"""The static site: a folder served at "/", cross-origin isolated, each file checked for change by its ETag."""

from __future__ import annotations

import mimetypes
import os
from pathlib import PurePath

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

#: What browsers insist on, whatever the machine's own tables say.
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
}

#: Isolation gives WebAssembly threads. Revalidation is cheap (304 by ETag), while a stale model file fails its sha256.
HEADERS = {
    "Cache-Control": "no-cache",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Site(StaticFiles):
    """Files of a folder, ``index.html`` for a folder of it; links are followed, hidden files are not served."""

    def __init__(self, directory: os.PathLike[str]) -> None:
        super().__init__(directory=directory, html=True, follow_symlink=True)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, or 404."""
        if any(part.startswith(".") and part not in (".", ".well-known") for part in PurePath(path).parts):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """As Starlette's, with our media types."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        if "content-type" in response.headers:
            response.headers["content-type"] = media_type(str(full_path))
        return response


def media_type(path: str) -> str:
    """By extension; bytes when it is not known."""
    suffix = PurePath(path).suffix.lower()
    return MEDIA_TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
