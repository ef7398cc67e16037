"""Bridge: all that Python asks of the browser, and the only module that imports ``js`` or ``pyodide``.

Every call crosses once each way with one shape: JSON text and one run of bytes there, ``{error, json, payload}``
back (``Reply`` in ``js_shim/protocol.d.ts``). Names that start with ``js_`` hold JavaScript objects; none leaves this
module. Copies: ``run`` copies the feeds once into JavaScript and the outputs once back; a model's bytes never come
here, Python holds only the key under which the shim keeps them. Each proxy of a Python callable is destroyed by the
function that made it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata, resources
from itertools import count
from typing import Any, Protocol

from edgeinfer_browser.errors import EdgeInferError, from_fields
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.wire import from_frame, to_frame

#: Called with bytes loaded and bytes in total (0 when not known).
OnProgress = Callable[[int, int], None]

#: Numbers calls for ``abort``: one shim may serve several bridges.
_calls = count(1)

IN_BROWSER = sys.platform == "emscripten"


@dataclass(frozen=True, slots=True)
class Notice:
    """What was given up to get the right answer all the same: a name, and a sentence for the user.

    Kinds: ``cache_unavailable``, ``quota_exceeded``, ``cache_write_failed``, ``cache_entry_damaged``,
    ``metric_sink_dropped``.
    """

    kind: str
    message: str

    def to_json(self) -> dict[str, str]:
        """Both fields."""
        return {"kind": self.kind, "message": self.message}


#: Called with each thing that was given up.
OnNotice = Callable[[Notice], None]


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer, whatever its status; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a session worker needs: the onnxruntime-web files, one execution provider, and the model's cached files."""

    execution_provider: str
    #: Absolute URLs of the onnxruntime-web module and of the one .wasm file that belongs to it.
    module_url: str
    wasm_url: str
    #: (path inside the folder, cache key) of the .onnx file and then of its external data files.
    files: tuple[tuple[str, str], ...]
    #: Seconds that starting the worker, the runtime and the session may take in all.
    timeout: float
    #: Names of the outputs that runs give; () is all of them.
    outputs: tuple[str, ...] = ()


class Bridge(Protocol):
    """The browser as Python sees it. All times are seconds; errors are those of :mod:`edgeinfer_browser.errors`."""

    async def probe(self) -> dict[str, Any]:
        """Raw facts about the device (``Facts`` in ``js_shim/protocol.d.ts``)."""

    async def runtime_url(self) -> str:
        """Absolute URL, ending in "/", of the folder that has ``ort/`` in it."""

    async def absolute_url(self, url: str) -> str:
        """``url`` against the page's (or worker's) own base; on CPython a path or URL as it is."""

    async def fetch_file(
        self, url: str, *, sha256: str = "", size: int = 0, timeout: float, on_notice: OnNotice | None = None
    ) -> bytes:
        """A small file's bytes, verified when ``sha256`` is given, from the cache when it is there."""

    async def fetch_to_cache(
        self,
        url: str,
        *,
        sha256: str,
        size: int,
        timeout: float,
        on_progress: OnProgress | None,
        on_notice: OnNotice | None = None,
    ) -> str:
        """Fetch, verify and keep a file on the JavaScript side; the key that :class:`SessionSpec` takes."""

    async def forget_old_revisions(self, folder: str, current: Iterable[tuple[str, str]]) -> None:
        """Remove what the cache holds of a model folder besides ``current``: (URL, sha256) of each file."""

    async def create_session(self, spec: SessionSpec) -> tuple[int, dict[str, Any]]:
        """Start a worker with one ``InferenceSession``: its handle, and ``{inputNames, outputNames, ...}``."""

    async def run(self, session: int, feeds: Mapping[str, Tensor], *, timeout: float) -> dict[str, Tensor]:
        """One run of a session: output name -> tensor."""

    async def time_session(
        self, session: int, feeds: Mapping[str, Tensor], *, runs: int, timeout: float
    ) -> list[float]:
        """Milliseconds of each of ``runs`` runs, timed inside the session's worker; for benchmarks."""

    async def release(self, session: int) -> None:
        """End the session's worker; its memory goes back. Never fails."""

    async def request(
        self, method: str, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> Response:
        """One HTTP request, no retry. Raises RemoteError when there is no answer at all."""

    async def recall(self, key: str) -> str | None:
        """A note kept by :meth:`remember` on this device, or None."""

    async def remember(self, key: str, text: str) -> None:
        """Keep a small note on this device; where nothing can be kept, for this page only."""


class PyodideBridge:
    """The Bridge of a Pyodide host, in a worker or on the page, over ``js_shim/shim.js``."""

    def __init__(self, js_shim: Any = None) -> None:
        self._js_shim = js_shim
        self._ffi: Any = None

    async def probe(self) -> dict[str, Any]:  # noqa: D102 - as in Bridge, here and below
        return _object(await self._call("probe", {}))

    async def runtime_url(self) -> str:  # noqa: D102
        return str(_object(await self._call("runtimeUrl", {"wheel": _wheel_url()}))["url"])

    async def absolute_url(self, url: str) -> str:  # noqa: D102
        return str(_object(await self._call("absoluteUrl", {"url": url}))["url"])

    async def fetch_file(  # noqa: D102
        self, url: str, *, sha256: str = "", size: int = 0, timeout: float, on_notice: OnNotice | None = None
    ) -> bytes:
        js_reply = await self._call("fetchFile", {"url": url, "sha256": sha256, "bytes": size, "timeout": timeout})
        _tell_notices(_object(js_reply), on_notice)
        return bytes(js_reply.payload.to_bytes())

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
        arguments = {"url": url, "sha256": sha256, "bytes": size, "timeout": timeout}
        answer = _object(await self._call("fetchToCache", arguments, on_progress=on_progress))
        _tell_notices(answer, on_notice)
        return str(answer["key"])

    async def forget_old_revisions(self, folder: str, current: Iterable[tuple[str, str]]) -> None:  # noqa: D102
        files = [{"url": url, "sha256": sha256} for url, sha256 in current]
        await self._call("forgetOldRevisions", {"folder": folder, "current": files})

    async def create_session(self, spec: SessionSpec) -> tuple[int, dict[str, Any]]:  # noqa: D102
        arguments = {
            "executionProvider": spec.execution_provider,
            "moduleUrl": spec.module_url,
            "wasmUrl": spec.wasm_url,
            "files": [{"path": path, "key": key} for path, key in spec.files],
            "outputs": list(spec.outputs),
            "timeout": spec.timeout,
        }
        made = _object(await self._call("createSession", arguments))
        return int(made["session"]), made

    async def run(self, session: int, feeds: Mapping[str, Tensor], *, timeout: float) -> dict[str, Tensor]:  # noqa: D102
        header, payload = to_frame(feeds)
        js_reply = await self._call("run", _run_arguments(session, header, timeout), payload)
        return from_frame(js_reply.json, js_reply.payload.to_bytes())

    async def time_session(  # noqa: D102
        self, session: int, feeds: Mapping[str, Tensor], *, runs: int, timeout: float
    ) -> list[float]:
        header, payload = to_frame(feeds)
        js_reply = await self._call("timeSession", _run_arguments(session, header, timeout, runs), payload)
        return list(_object(js_reply)["milliseconds"])

    async def release(self, session: int) -> None:  # noqa: D102
        await self._call("release", {"session": session})

    async def request(  # noqa: D102
        self, method: str, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float
    ) -> Response:
        arguments = {"method": method, "url": url, "headers": dict(headers), "timeout": timeout}
        js_reply = await self._call("request", arguments, body)
        answer = _object(js_reply)
        return Response(answer["status"], answer["headers"], bytes(js_reply.payload.to_bytes()))

    async def recall(self, key: str) -> str | None:  # noqa: D102
        note: str | None = _object(await self._call("recall", {"key": key}))["text"]
        return note

    async def remember(self, key: str, text: str) -> None:  # noqa: D102
        await self._call("remember", {"key": key, "text": text})

    async def _call(
        self,
        method: str,
        arguments: Mapping[str, Any] | str,
        payload: bytes = b"",
        on_progress: OnProgress | None = None,
    ) -> Any:
        """Call one shim method. A cancelled caller aborts what it started on the JavaScript side."""
        js_shim = self._js_shim or await self._shim()
        ffi = self._ffi = self._ffi or import_module("pyodide.ffi")  # an import for each call would be felt
        call = next(_calls)
        js_on_progress = ffi.create_proxy(on_progress) if on_progress else None
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        try:
            js_reply = await getattr(js_shim, method)(text, ffi.to_js(payload), call, js_on_progress)
        except asyncio.CancelledError:
            js_shim.abort(call)
            raise
        finally:
            if js_on_progress is not None:
                js_on_progress.destroy()
        if js_reply.error:
            raise _error(js_reply.error)
        return js_reply

    async def _shim(self) -> Any:
        if self._js_shim is None:
            self._js_shim = await _find_shim()
        return self._js_shim


@cache
def default_bridge() -> Bridge:
    """The bridge of this host: Pyodide's in a browser, the native one on CPython."""
    if IN_BROWSER:
        return PyodideBridge()
    from edgeinfer_browser.bridge_native import NativeBridge

    return NativeBridge()


def _run_arguments(session: int, header: str, timeout: float, runs: int = 1) -> str:
    """The header is JSON already, so it is put in as it is."""
    return f'{{"session":{session},"timeout":{timeout},"runs":{runs},"tensors":{header}}}'


def _object(js_reply: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(js_reply.json)
    return answer


def _tell_notices(answer: Mapping[str, Any], on_notice: OnNotice | None) -> None:
    if on_notice:
        for notice in answer.get("notices", ()):
            on_notice(Notice(**notice))


def _error(text: str) -> EdgeInferError:
    fields = json.loads(text)
    return from_fields(fields["name"], fields["message"], fields.get("details") or {})


async def _find_shim() -> Any:
    """The shim that the host registered (``pyodide.registerJsModule``), else the wheel's own, from a Blob URL."""
    try:
        import edgeinfer_shim
    except ModuleNotFoundError:
        return await _import_own_shim()
    return edgeinfer_shim.shim


async def _import_own_shim() -> Any:
    from js import URL
    from pyodide.code import run_js

    # Files in a wheel have no URL, so both modules are given one. The shim's is revoked once it is imported; the
    # session worker's stays, as each new session starts from it.
    folder = resources.files("edgeinfer_browser") / "_shim"
    shim_url = _blob_url((folder / "shim.js").read_bytes())
    try:
        js_module = await run_js("(url) => import(url)")(shim_url)
    finally:
        URL.revokeObjectURL(shim_url)
    return js_module.createShim(
        json.dumps({"sessionWorkerUrl": _blob_url((folder / "session_worker.js").read_bytes())})
    )


def _blob_url(source: bytes) -> str:
    from js import URL, Blob, Object
    from pyodide.ffi import to_js

    js_options = to_js({"type": "text/javascript"}, dict_converter=Object.fromEntries)
    return str(URL.createObjectURL(Blob.new(to_js([source]), js_options)))


def _wheel_url() -> str:
    """Where micropip had the wheel from: the folder that has the runtime files beside it. "" when not known."""
    try:
        return metadata.distribution("edgeinfer-browser").read_text("PYODIDE_URL") or ""
    except metadata.PackageNotFoundError:
        return ""
