"""Download: a file over HTTP on CPython, in as many connections as it takes.

Each goes on where the last one broke off, where the server allows it (``Range``). Nothing here trusts the bytes:
verifying them comes after. The same rules as ``js_shim/download.js``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from ssl import SSLContext
from typing import BinaryIO

import httpx

from edgeinfer_browser.answer_check import HEAD_BYTES, PASSING, check_content, refusal, retry_after
from edgeinfer_browser.errors import ContentError, DeadlineError, FetchError

#: Tries in a row that bring next to nothing; seconds before the second one, doubled for each one after it.
MOST_TRIES = 4
BACKOFF_SECONDS = 0.5
#: A server may ask for a wait of so many seconds, once; a longer one is the user's to decide on.
MOST_RETRY_AFTER = 30.0
#: Bytes with which a try that was cut was worth it.
WORTH_BYTES = 2**20

#: Called with bytes loaded and bytes in total (0 when not known).
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a try failed: the error to end with, whether another may help, and the seconds the server asked for."""

    error: FetchError
    passing: bool
    retry_after: float | None = None


@dataclass(slots=True)
class Retries:
    """Whether a download that failed is tried again, and after how long."""

    _tries: int = 0
    _waited: bool = False

    def next(self, failure: Failure, gained: int) -> float | None:
        """Seconds until the next try; None to give up. ``gained``: bytes that the try brought."""
        self._tries = 1 if gained >= WORTH_BYTES else self._tries + 1
        if not failure.passing or self._tries >= MOST_TRIES:
            return None
        if failure.retry_after is None:
            return float(BACKOFF_SECONDS * 2 ** (self._tries - 1))
        if self._waited or failure.retry_after > MOST_RETRY_AFTER:
            return None
        self._waited = True
        return failure.retry_after


@dataclass(slots=True)
class Download:
    """One file on its way into ``sink``, a seekable file that may hold its beginning already.

    ``size`` and ``sha256`` are 0 and "" when nobody knows them; ``timeout`` is seconds without a byte.
    """

    url: str
    sha256: str
    size: int
    timeout: float
    sink: BinaryIO
    on_progress: OnProgress | None = None
    #: The strong ETag of what is there; "" when it is not known.
    _etag: str = ""
    _retries: Retries = field(default_factory=Retries)

    @property
    def received(self) -> int:
        """Bytes so far."""
        return self.sink.seek(0, 2)

    async def run(self) -> None:
        """Have all of it; what came is still in ``sink`` when it fails.

        Raises:
            FetchError: when it cannot be had; its class says why.
            DeadlineError: when nothing came for ``timeout`` seconds.
        """
        async with httpx.AsyncClient(timeout=self.timeout, follow_redirects=True, verify=_certificates()) as client:
            while not self.size or self.received < self.size:
                before = self.received
                failure = await self._attempt(client)
                if failure is None:
                    return
                seconds = self._retries.next(failure, self.received - before)
                if seconds is None:
                    raise failure.error
                await asyncio.sleep(seconds)

    def restart(self) -> None:
        """Forget what is there."""
        self.sink.seek(0)
        self.sink.truncate()
        self._etag = ""

    async def _attempt(self, client: httpx.AsyncClient) -> Failure | None:
        """One connection; None when the body came to its end."""
        try:
            async with client.stream("GET", self.url, headers=self._headers()) as answer:
                failure = self._accept(answer)
                if failure is None:
                    await self._read(answer)
                return failure
        except httpx.TimeoutException as error:
            step = f"Fetching {self.url} (waiting for more bytes)"
            raise DeadlineError(
                f"{step} took longer than {self.timeout:g} s.", step=step, seconds=self.timeout
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._broken(error)

    def _headers(self) -> dict[str, str]:
        """Offsets count the bytes of the file itself, so no encoding. Without an ETag the sha256 decides."""
        headers = {"Accept-Encoding": "identity"}
        if self.received and (self.sha256 or self._etag):
            headers["Range"] = f"bytes={self.received}-"
            if self._etag:
                headers["If-Range"] = self._etag
        return headers

    def _accept(self, answer: httpx.Response) -> Failure | None:
        """Whether the body goes on where we are, or begins anew. A refusal is a failure."""
        status, url = answer.status_code, str(answer.url)
        error = refusal(status, answer.headers, url)
        if error and status == 416 and self.received:  # what is there is of another version of the file
            self.restart()
            return Failure(error, passing=True)
        if error:
            return Failure(error, status in PASSING, retry_after(answer.headers))
        wrong = self._wrong_range(answer) if status == 206 else ""
        if status == 206 and not wrong:
            return None
        self.restart()
        etag = answer.headers.get("etag", "")
        self._etag = etag if etag.startswith('"') else ""
        what = f"{url} answered 206 (a part), but {wrong}. Check the server or proxy."
        return Failure(FetchError(what, url=url, status=206), passing=True) if wrong else None

    def _wrong_range(self, answer: httpx.Response) -> str:
        told = answer.headers.get("content-range", "")
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", told)
        if found is None or int(found[1]) != self.received or not self.received:
            return f"its Content-Range is {told!r}, not from byte {self.received}"
        if self.size and found[2] not in ("*", str(self.size)):
            return f"its Content-Range is {told!r}, not of {self.size} bytes"
        etag = answer.headers.get("etag", self._etag)
        return f"it is of version {etag}, not {self._etag}" if self._etag and etag != self._etag else ""

    async def _read(self, answer: httpx.Response) -> None:
        total = self.size or self.received + int(answer.headers.get("content-length", 0))
        checked = self.received > 0
        async for chunk in answer.aiter_bytes():
            self.sink.write(chunk)
            if not checked and self.received >= HEAD_BYTES:
                checked = self._check_head(answer)
            if self.on_progress:
                self.on_progress(self.received, total)
            if self.size and self.received > self.size:
                return  # another file; no need for the rest
        if not checked:
            self._check_head(answer)

    def _check_head(self, answer: httpx.Response) -> bool:
        self.sink.seek(0)
        head = self.sink.read(HEAD_BYTES)
        self.sink.seek(0, 2)
        try:
            check_content(str(answer.url), head, answer.headers.get("content-type", ""))
        except ContentError:
            self.restart()
            raise
        return True

    def _broken(self, error: Exception) -> Failure:
        """A cut connection may be taken up again; one that never came about says that URL or network is wrong."""
        what = f"broke off after {self.received} bytes" if self.received else "could not be fetched"
        why = f"{self.url} {what} ({type(error).__name__}: {error}). Check the connection and the URL."
        return Failure(FetchError(why, url=self.url), passing=self.received > 0)


@cache
def _certificates() -> SSLContext:
    """Read once: it takes longer than a small file."""
    return httpx.create_ssl_context()
