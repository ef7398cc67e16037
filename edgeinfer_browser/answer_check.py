"""What came in place of a file, told by name: refusals by their status, and pages, error bodies and pointers.

The same rules as ``js_shim/answer_check.js``, for the files that CPython has over HTTP or from the disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from edgeinfer_browser.errors import (
    AccessDeniedError,
    ContentError,
    FetchError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
)

#: Bytes from which an answer's kind can be told.
HEAD_BYTES = 512

#: Statuses that another try may cure.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})

#: status -> class, what is wrong and what next.
_REFUSALS: Mapping[int, tuple[type[FetchError], str]] = {
    401: (AccessDeniedError, "needs a sign-in. Use a model folder that is public, or download it by hand"),
    403: (AccessDeniedError, "is forbidden. Check the file's permissions, or that it is there at all"),
    404: (NotFoundError, "was not found. Check the model's URL"),
    410: (NotFoundError, "was not found. Check the model's URL"),
    429: (TooManyRequestsError, "is refused for now: too many requests. Wait, or serve the model yourself"),
}


def refusal(status: int, headers: Mapping[str, str], url: str) -> FetchError | None:
    """The error of an answer's status; None for one that has the file, or a part of it, in it."""
    if 200 <= status < 300:
        return None
    if status in _REFUSALS:
        kind, what = _REFUSALS[status]
        details = {"retry_after": retry_after(headers)} if status == 429 else {}
        return kind(f"{url} {what} ({status}).", url=url, status=status, **details)
    if status < 500:
        return FetchError(f"{url} answered {status}.", url=url, status=status)
    what = "the server failed. Try again later, or look at the server's log."
    return ServerError(f"{url} answered {status}: {what}", url=url, status=status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a ``Retry-After`` header asks for (it may also be a date), or None."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def check_content(url: str, head: bytes, media_type: str = "") -> None:
    """Tell what is not the file from its first bytes (all of them when there are fewer than HEAD_BYTES).

    Raises:
        ContentError: for an empty body, an HTML page, a Git-LFS pointer, or JSON where a model should be.
    """
    text = head.decode("utf-8", "replace").lstrip()
    what = _what_it_is(text, urlsplit(url).path, media_type)
    if not text and len(head) < HEAD_BYTES:
        what = "is empty. Copy or pack the model again."
    if what:
        raise ContentError(f"{url} {what}", url=url)


def _what_it_is(text: str, path: str, media_type: str) -> str:
    start = text[:64].lower()
    if start.startswith(("<!doctype", "<html")):
        return "is an HTML page instead of the file. Check the path."
    if start.startswith("version https://git-lfs"):
        return 'is a Git-LFS pointer, not the file. Run "git lfs pull" where the model is served from.'
    # An .onnx file never begins so; other files only count when the server says so.
    is_json = start[:1] in ("{", "[") and not path.endswith(".json")
    if is_json and (path.endswith(".onnx") or "json" in media_type):
        said = re.sub(r"\s+", " ", text)[:120]
        return f"is JSON instead of the file: {said} Check the URL, and what the server says."
    return ""
