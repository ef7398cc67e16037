"""The ``api`` tier: the same feeds over the Open Inference Protocol v2, as binary tensors, to any server of it.

Retries are few and only where a second try can help (no answer, 429, 502, 503, 504); ``Retry-After`` is honoured as
far as the deadline allows. The manifest's revision travels with each request, so both sides know they run one model.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from edgeinfer_browser.backends.base import Feeds, require_finite
from edgeinfer_browser.bridge import Bridge, Response
from edgeinfer_browser.errors import InputError, RateLimitedError, RemoteError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.wire import DTYPE_HEADER, HEADER_LENGTH, infer_request, parse_message

#: Seconds that one request may take, and that a call may take with its retries.
REQUEST_SECONDS = 30.0
TOTAL_SECONDS = 60.0
#: Tries in all, and the seconds before the second and third.
TRIES = 3
BACKOFF_SECONDS = (0.25, 1.0)
#: Requests under way at once when a list of texts was given.
CONCURRENCY = 6

_RETRIED = {429, 502, 503, 504}


class Remote:
    """A model of an Open Inference Protocol server at ``base`` (absolute, ending in "/")."""

    def __init__(
        self,
        bridge: Bridge,
        base: str,
        model: str,
        manifest: ModelManifest,
        *,
        request_seconds: float = REQUEST_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self.tier = "api"
        self.dtype: str | None = None
        self._bridge = bridge
        self._url = f"{base}v2/models/{model}/infer"
        # A server gives all outputs unless it is told which.
        self._outputs = manifest.wanted_outputs if manifest.wanted_outputs != manifest.outputs else ()
        self._parameters = {"revision": manifest.revision} if manifest.revision else {}
        self._request_seconds = request_seconds
        self._total_seconds = total_seconds

    async def load(self) -> None:
        """Nothing to load: the first request tells whether the server is there."""

    async def run(self, feeds: Feeds) -> dict[str, Tensor]:
        """One infer request, with bounded retries.

        Raises:
            RateLimitedError: for 429, after the retries.
            RemoteError: for no answer, any other status, or an answer that is not the protocol's.
            DeadlineError: when the server was too slow.
        """
        body, headers = infer_request(feeds, self._outputs, **self._parameters)
        answer = await self._post(body, headers)
        try:
            _, outputs = parse_message(answer.body, answer.headers.get(HEADER_LENGTH.lower()), "outputs")
        except InputError as error:
            raise RemoteError(
                f"{self._url} answered 200, but not with an Open Inference Protocol response: {error} "
                "Check that the API base URL points at such a server.",
                url=self._url,
                status=200,
            ) from error
        self.dtype = answer.headers.get(DTYPE_HEADER.lower())
        require_finite(outputs, self.tier)
        return outputs

    async def run_many(self, batches: Sequence[Feeds]) -> list[dict[str, Tensor]]:
        """One request each, a few at a time: what else is in a batch must not change an answer."""
        slots = asyncio.Semaphore(CONCURRENCY)

        async def one(feeds: Feeds) -> dict[str, Tensor]:
            async with slots:
                return await self.run(feeds)

        return list(await asyncio.gather(*map(one, batches)))

    async def close(self) -> None:
        """Nothing is held between requests; what the server ran may change until the next."""
        self.dtype = None

    async def _post(self, body: bytes, headers: dict[str, str]) -> Response:
        end = time.monotonic() + self._total_seconds
        for pause in (*BACKOFF_SECONDS[: TRIES - 1], None):
            left = min(self._request_seconds, max(0.001, end - time.monotonic()))
            try:
                answer = await self._bridge.request("POST", self._url, body=body, headers=headers, timeout=left)
            except RemoteError:
                if pause is None or time.monotonic() + pause > end:
                    raise
                await asyncio.sleep(pause)
                continue
            if answer.status == 200:
                return answer
            wait = max(pause or 0.0, retry_after(answer) or 0.0)
            if answer.status not in _RETRIED or pause is None or time.monotonic() + wait > end:
                raise _status_error(self._url, answer)
            await asyncio.sleep(wait)
        raise AssertionError("the last try has no pause, so it returns or raises")


def retry_after(answer: Response) -> float | None:
    """Seconds in a ``Retry-After`` header: a number, or an HTTP date (RFC 9110, 10.2.3); None when it is neither."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _status_error(url: str, answer: Response) -> RemoteError:
    said = _reason(answer.body)
    if answer.status == 429:
        wait = retry_after(answer)
        when = f"Try again in {wait:g} s." if wait is not None else "Try again later."
        return RateLimitedError(
            f"{url} answered 429 (too many requests){said}. {when}", url=url, status=429, retry_after=wait
        )
    return RemoteError(f"{url} answered {answer.status}{said}.", url=url, status=answer.status)


def _reason(body: bytes) -> str:
    """What the server says of its refusal: the protocol's ``{"error": ...}``, else nothing."""
    try:
        said = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    return f": {str(said)[:300].rstrip('.')}"
