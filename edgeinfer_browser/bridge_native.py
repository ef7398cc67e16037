"""NativeBridge: the Bridge on CPython. Files come from the disk or over HTTP, sessions are native ONNX Runtime's.

It has no ``InferenceSession`` of onnxruntime-web to offer, so ``create_session`` refuses; the ``native`` tier does
not come this way.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import httpx

from edgeinfer_browser.bridge import OnProgress, Response, SessionSpec
from edgeinfer_browser.errors import (
    ContentError,
    DeadlineError,
    FetchError,
    IntegrityError,
    NotFoundError,
    RemoteError,
    SessionError,
)
from edgeinfer_browser.tensors import Tensor


class NativeBridge:
    """Disk and HTTP (httpx) in place of fetch and the Cache API. Notes live as long as the process."""

    def __init__(self) -> None:
        self._notes: dict[str, str] = {}

    async def probe(self) -> dict[str, Any]:  # noqa: D102 - as in Bridge, here and below
        return {
            "host": "cpython",
            "cores": os.cpu_count(),
            "network": {"online": None},
            "gpu": {"present": False},
            "platform": platform.platform(),
        }

    async def runtime_url(self) -> str:  # noqa: D102
        return _no_sessions()

    async def absolute_url(self, url: str) -> str:  # noqa: D102
        return url

    async def fetch_file(self, url: str, *, sha256: str = "", size: int = 0, timeout: float) -> bytes:  # noqa: D102
        data = await (_download(url, timeout) if _is_http(url) else asyncio.to_thread(_read, url))
        _check_content(url, data)
        actual = hashlib.sha256(data).hexdigest() if sha256 else ""
        if actual != sha256:
            raise IntegrityError(
                f"{url} has {len(data)} bytes with sha256 {actual}, but the manifest says {size} bytes with {sha256}. "
                "Copy or pack the model again.",
                url=url,
                expected=sha256,
                actual=actual,
            )
        return data

    async def fetch_to_cache(  # noqa: D102
        self, url: str, *, sha256: str, size: int, timeout: float, on_progress: OnProgress | None
    ) -> str:
        # A local file is verified where it lies. ONNX Runtime opens it by path, so its external data is found beside.
        data = await self.fetch_file(url, sha256=sha256, size=size, timeout=timeout)
        if on_progress:
            on_progress(len(data), len(data))
        return await asyncio.to_thread(_keep, url, data) if _is_http(url) else url

    async def create_session(self, spec: SessionSpec) -> tuple[int, dict[str, Any]]:  # noqa: D102
        _no_sessions()

    async def run(self, session: int, feeds: Mapping[str, Tensor], *, timeout: float) -> dict[str, Tensor]:  # noqa: D102
        _no_sessions()

    async def time_session(  # noqa: D102
        self, session: int, feeds: Mapping[str, Tensor], *, runs: int, timeout: float
    ) -> list[float]:
        _no_sessions()

    async def release(self, session: int) -> None:  # noqa: D102
        return

    async def request(  # noqa: D102
        self, method: str, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> Response:
        try:
            async with asyncio.timeout(timeout):
                answer = await _send(method, url, body=body, headers=headers, timeout=timeout)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise DeadlineError(
                f"The request to {url} took longer than {timeout:g} s.", step=f"The request to {url}", seconds=timeout
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RemoteError(
                f"{url} gave no answer ({type(error).__name__}: {error}). Check that it is up and the URL is right.",
                url=url,
            ) from error
        return Response(answer.status_code, dict(answer.headers), answer.content)

    async def recall(self, key: str) -> str | None:  # noqa: D102
        return self._notes.get(key)

    async def remember(self, key: str, text: str) -> None:  # noqa: D102
        self._notes[key] = text


async def _send(method: str, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float) -> httpx.Response:
    """One request, redirects followed as fetch() does; ``timeout`` is for each wait for more bytes."""
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=True) as client:
        return await client.request(method, url, content=body, headers=dict(headers))


async def _download(url: str, timeout: float) -> bytes:
    """A file's bytes. A slow download that goes on is left alone; one that stalls is given up."""
    try:
        answer = await _send("GET", url, body=b"", headers={}, timeout=timeout)
    except httpx.TimeoutException as error:
        step = f"Fetching {url} (waiting for more bytes)"
        raise DeadlineError(f"{step} took longer than {timeout:g} s.", step=step, seconds=timeout) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = f"{url} could not be fetched ({type(error).__name__}: {error}). Check the connection and the URL."
        raise FetchError(why, url=url) from error
    status = answer.status_code
    if status in {404, 410}:
        raise NotFoundError(f"{url} was not found ({status}). Check the model's URL.", url=url, status=status)
    if status != 200:
        raise FetchError(f"{url} answered {status}.", url=url, status=status)
    return answer.content


def _check_content(url: str, data: bytes) -> None:
    """A page in place of the file, or a Git-LFS checkout without its files, is told from a broken file."""
    head = data[:64].lstrip().lower()
    if not data:
        raise ContentError(f"{url} is empty. Copy or pack the model again.", url=url)
    if head.startswith((b"<!doctype", b"<html")):
        raise ContentError(f"{url} is an HTML page instead of the file. Check the path.", url=url)
    if head.startswith(b"version https://git-lfs"):
        raise ContentError(f'{url} is a Git-LFS pointer, not the file. Run "git lfs pull".', url=url)


def _is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFoundError(f"There is no file {path}. Check the model folder's path.", url=path) from error
    except OSError as error:
        raise FetchError(f"{path} could not be read: {error}.", url=path) from error


def _keep(url: str, data: bytes) -> str:
    """Write a downloaded file below the user's cache folder; files of one URL folder stay beside each other."""
    folder, _, name = url.rpartition("/")
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    path = base / "edgeinfer" / hashlib.sha256(folder.encode()).hexdigest()[:16] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{name}.{os.getpid()}.part")
    partial.write_bytes(data)
    partial.replace(path)
    return str(path)


def _no_sessions() -> NoReturn:
    raise SessionError("onnxruntime-web runs in browsers only; on CPython the native tier is used.")
