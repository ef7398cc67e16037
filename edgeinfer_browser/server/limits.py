"""Limits: how much one request may hold and how many may wait; and the two places that hold to them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request

#: Seconds that a refused request is told to wait before it tries again.
RETRY_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What is too much. Counts are per model and per worker process."""

    #: Bytes of a request's body; more is answered with 413.
    body_bytes: int = 8 * 2**20
    #: Texts of one ``/predict``, or the first dim of an input of ``/v2``; more is answered with 413.
    batch: int = 16_384
    #: Runs at the same time; ONNX Runtime spreads each over the cores by itself.
    running: int = 1
    #: Requests that may wait beside those that run; more are answered with 429.
    waiting: int = 64


class Queue:
    """The line before one model: requests are admitted or refused at once, their runs take turns."""

    def __init__(self, limits: Limits) -> None:
        self.turn = asyncio.Semaphore(limits.running)
        self._room = limits.running + limits.waiting
        self._admitted = 0

    @contextmanager
    def admit(self) -> Iterator[None]:
        """A place in the line for the time of one request.

        Raises:
            HTTPException: 429 with ``Retry-After`` when the line is full.
        """
        if self._admitted >= self._room:
            raise HTTPException(
                429,
                f"{self._admitted} requests to this model are under way, which is the most. Try again later.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body, given up as soon as it is too large, whatever ``Content-Length`` says.

    Raises:
        HTTPException: 413, or 415 for a compressed body.
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise HTTPException(415, f"Content-Encoding {encoding!r} is not taken. Send the body as it is.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.body_bytes:
        raise _too_large(limits)
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limits.body_bytes:
            raise _too_large(limits)
        chunks.append(chunk)
    return b"".join(chunks)


def check_batch(count: int, what: str, limits: Limits) -> None:
    """Refuse a batch above the limit.

    Raises:
        HTTPException: 413.
    """
    if count > limits.batch:
        raise HTTPException(413, f"{what} has {count} items; the most is {limits.batch}. Send several requests.")


def _too_large(limits: Limits) -> HTTPException:
    return HTTPException(413, f"The body is larger than {limits.body_bytes} bytes. Send several requests.")
