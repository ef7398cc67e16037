"""The packed files in a real browser: what onnxruntime-web answers to the golden samples.

WASM always; WebGPU when the browser has an adapter with the features that the variant needs. There a software adapter
takes seconds for what a GPU does in milliseconds, so texts are cut to :data:`WEBGPU_TOKENS`, since kernels change by 32
tokens, and of pictures only the smallest is run: the graph makes all of them one size, and each size of a source costs
new shaders (open_nsfw: 20 s for the first picture, 9 to 11 s for each further size, of 45 s in all).
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

#: Tokens of a text, at most, on WebGPU.
WEBGPU_TOKENS = 48

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
    """A variant to run: files below the folder (.onnx first), the WebGPU features that it needs, outputs to compare."""

    files: tuple[str, ...]
    features: tuple[str, ...]
    outputs: tuple[str, ...] = ()


def feeds_for(provider: str, feeds: Sequence[Arrays]) -> list[Arrays]:
    """The feeds as they run there: for WebGPU token ids [texts, tokens] are cut, and one picture is enough."""
    if provider != "webgpu":
        return list(feeds)
    if feeds and "pixels" in feeds[0]:
        return [min(feeds, key=lambda feed: feed["pixels"].size)]
    return [
        {name: array[:, :WEBGPU_TOKENS] if array.ndim == 2 else array for name, array in feed.items()} for feed in feeds
    ]


def web_answers(
    folder: Path, candidates: Mapping[str, Candidate], feeds: Sequence[Arrays], check: BrowserCheck
) -> dict[str, dict[str, list[Arrays]]]:
    """dtype -> executionProvider -> answers to :func:`feeds_for` it.

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
        made["webgpu"] = _run(sessions, candidate, feeds_for("webgpu", feeds), "webgpu")
    return made


def _run(sessions: WebSessions, candidate: Candidate, feeds: Sequence[Arrays], provider: str) -> list[Arrays]:
    with sessions.create(candidate.files, provider, candidate.outputs) as session:
        return [session.run(feed) for feed in feeds]
