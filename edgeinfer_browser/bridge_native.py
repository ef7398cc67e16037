"""NativeBridge: the Bridge on CPython. Files come from the disk or over HTTP, sessions are native ONNX Runtime's.

It has no ``InferenceSession`` of onnxruntime-web to offer, so ``create_session`` refuses; the ``native`` tier does
not come this way.
"""

from __future__ import annotations

import asyncio
import io
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import httpx

from edgeinfer_browser import disk_cache
from edgeinfer_browser.answer_check import HEAD_BYTES, check_content
from edgeinfer_browser.bridge import OnNotice, OnProgress, Response, SessionSpec
from edgeinfer_browser.download import Download
from edgeinfer_browser.errors import (
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

    async def fetch_file(  # noqa: D102
        self, url: str, *, sha256: str = "", size: int = 0, timeout: float, on_notice: OnNotice | None = None
    ) -> bytes:
        if _is_http(url) and not sha256:  # nobody could verify it, so it is not kept
            sink = io.BytesIO()
            await Download(url, "", size, timeout, sink).run()
            return sink.getvalue()
        path = await self.fetch_to_cache(
            url, sha256=sha256, size=size, timeout=timeout, on_progress=None, on_notice=on_notice
        )
        return await asyncio.to_thread(Path(path).read_bytes)

    async def fetch_to_cache(  # noqa: D102
        self,
        url: str,
        *,
        sha256: str,
        size: int,
        timeout: float,
        on_progress: OnProgress | None,
        on_notice: OnNotice | None = None,
    ) -> str:
        if _is_http(url):
            wanted = Download(url, sha256, size, timeout, io.BytesIO(), on_progress)
            path = await _from_cache_or_server(wanted, on_notice)
        else:  # A local file is verified where it lies: ONNX Runtime looks for its external data there.
            path = await asyncio.to_thread(_checked, url, sha256, size)
        if on_progress:
            on_progress(path.stat().st_size, path.stat().st_size)
        return str(path)

    async def forget_old_revisions(self, folder: str, current: Iterable[tuple[str, str]]) -> None:  # noqa: D102
        if _is_http(folder):
            await asyncio.to_thread(disk_cache.forget_old_revisions, folder, current)

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


async def _from_cache_or_server(wanted: Download, on_notice: OnNotice | None) -> Path:
    """The verified file in the disk cache. A wrong one is fetched once more, from its first byte."""
    place = disk_cache.place_of(wanted.url, on_notice)
    found, damaged = await asyncio.to_thread(disk_cache.read_committed, place, wanted.sha256)
    if damaged and on_notice:
        on_notice(damaged)
    if found:
        return found
    try:
        with disk_cache.partial_file(place, wanted.sha256) as (wanted.sink, partial):
            await _download_verified(wanted, partial)
            disk_cache.commit(partial, place)
    except OSError as error:
        raise FetchError(
            f"{place} could not be written: {error}. Make room, or set XDG_CACHE_HOME.", url=wanted.url
        ) from error
    return place


async def _download_verified(wanted: Download, partial: Path) -> None:
    for last in (False, True):
        await wanted.run()
        wanted.sink.flush()
        wrong = await asyncio.to_thread(_what_is_wrong, wanted.url, partial, wanted.sha256, wanted.size)
        if wrong is None:
            return
        wanted.restart()
        if last:
            raise wrong


def _what_is_wrong(url: str, path: Path, sha256: str, size: int) -> IntegrityError | None:
    there = path.stat().st_size
    expected, actual = f"{size} bytes", f"more than {size} bytes" if there > size else f"{there} bytes"
    if not size or there == size:
        expected, actual = f"sha256 {sha256}", f"sha256 {disk_cache.sha256_of(path)}"
    if expected == actual or not sha256:
        return None
    why = f"{url} has {actual}, but the model's manifest says {expected}. Copy or pack the model again."
    return IntegrityError(why, url=url, expected=expected, actual=actual)


def _is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _checked(path: str, sha256: str, size: int) -> Path:
    """A file on the disk that is what it should be."""
    try:
        with Path(path).open("rb") as file:
            check_content(path, file.read(HEAD_BYTES))
        wrong = _what_is_wrong(path, Path(path), sha256, size)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFoundError(f"There is no file {path}. Check the model folder's path.", url=path) from error
    except OSError as error:
        raise FetchError(f"{path} could not be read: {error}.", url=path) from error
    if wrong:
        raise wrong
    return Path(path)


def _no_sessions() -> NoReturn:
    raise SessionError("onnxruntime-web runs in browsers only; on CPython the native tier is used.")
