"""The packed files in a real browser: what onnxruntime-web answers to the golden samples.

WASM always; WebGPU when the browser has an adapter with the features that the variant needs. There only the short
samples run: a software adapter takes seconds for a long one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from edgeinfer_browser.errors import InputError

if TYPE_CHECKING:
    from edgeinfer_browser.headless.session import WebSessions

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]

#: Elements of all inputs of a sample, up to which it runs on WebGPU too.
WEBGPU_ELEMENTS = 256

_ADAPTER = """async () => {
  const adapter = await navigator.gpu?.requestAdapter();
  return adapter ? { features: [...adapter.features] } : null;
}"""


@dataclass(frozen=True, slots=True)
class BrowserCheck:
    """Which runtime folder and which Chromium to check with; None finds them as ``edgeinfer run`` does."""

    runtime: Path | None = None
    browser: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A variant to run: files below the folder (.onnx first), and the WebGPU features that it needs."""

    files: tuple[str, ...]
    features: tuple[str, ...]


def web_answers(
    folder: Path, candidates: Mapping[str, Candidate], feeds: Sequence[Arrays], check: BrowserCheck
) -> dict[str, dict[str, list[Arrays]]]:
    """dtype -> executionProvider -> answers to the feeds (WebGPU: to the first ones, as many as are short).

    Raises:
        InputError: when there is no runtime folder or no Chromium; says how to get one, or to skip the check.
        SessionError, RunError: when onnxruntime-web refuses a file or a run.
    """
    from edgeinfer_browser.headless.session import web_sessions

    try:
        with web_sessions(folder, check.runtime, check.browser) as sessions:
            adapter = sessions.page.evaluate(_ADAPTER)
            return {dtype: _answers(sessions, candidate, feeds, adapter) for dtype, candidate in candidates.items()}
    except InputError as error:
        raise InputError(
            f"The packed files could not be checked in a browser. {error} Or pack without that check: "
            "--skip-browser-check (edgeinfer.json will say so).",
            **error.details,
        ) from error


def _answers(
    sessions: WebSessions, candidate: Candidate, feeds: Sequence[Arrays], adapter: Mapping[str, Any] | None
) -> dict[str, list[Arrays]]:
    made = {"wasm": _run(sessions, candidate, feeds, "wasm")}
    if adapter and set(candidate.features) <= set(adapter["features"]):
        short = [feed for feed in feeds if sum(array.size for array in feed.values()) <= WEBGPU_ELEMENTS]
        made["webgpu"] = _run(sessions, candidate, short, "webgpu")
    return made


def _run(sessions: WebSessions, candidate: Candidate, feeds: Sequence[Arrays], provider: str) -> list[Arrays]:
    with sessions.create(candidate.files, provider) as session:
        return [session.run(feed) for feed in feeds]
