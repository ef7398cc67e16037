"""One onnxruntime-web session in a real browser, fed from CPython: how a model file is tried where it will run.

The page starts the runtime folder's own session worker and speaks its protocol (``js_shim/protocol.d.ts``), so what is
measured is what users get: the same ONNX Runtime build, one thread, external data handed over as bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Page

from edgeinfer_browser.errors import from_fields
from edgeinfer_browser.headless.page import find_runtime, page_at, site_folder
from edgeinfer_browser.headless.serving import serving_files
from edgeinfer_browser.tensors import Tensor

Array = npt.NDArray[Any]

#: executionProvider -> its module and .wasm file in the runtime folder's ort/.
BUILDS = {
    "wasm": ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"),
    "webgpu": ("ort.webgpu.bundle.min.mjs", "ort-wasm-simd-threaded.asyncify.wasm"),
}

_START = """() => {
  window.sessions = new Map();
  window.ask = (worker, request, transfer = []) => new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => resolve({ error: { name: "SessionError", message: String(event.message) } });
    worker.postMessage({ ...request, id: 1 }, transfer);
  });
  window.bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  window.textOf = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768)
      text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return btoa(text);
  };
}"""

_CREATE = """async ({ handle, executionProvider, module, wasm, files, outputs }) => {
  const worker = new Worker("/edgeinfer/session_worker.js", { type: "module" });
  window.sessions.set(handle, worker);
  const blobs = await Promise.all(files.map(async (path) => {
    const response = await fetch(`/files/${path}`);
    if (!response.ok) throw new Error(`/files/${path}: ${response.status}`);
    return { path, blob: await response.blob() };
  }));
  const before = performance.now();
  const answer = await window.ask(worker, {
    type: "create", executionProvider, outputs, files: blobs,
    moduleUrl: new URL(`/edgeinfer/ort/${module}`, location).href,
    wasmUrl: new URL(`/edgeinfer/ort/${wasm}`, location).href,
  });
  return { ...answer, milliseconds: performance.now() - before };
}"""

_ASK = """async ({ handle, payload, ...request }) => {
  const worker = window.sessions.get(handle);
  const answer = await window.ask(worker, { ...request, payload: window.bytesOf(payload) });
  if (answer.value?.payload) answer.value.payload = window.textOf(answer.value.payload);
  return answer;
}"""

_CLOSE = "(handle) => { window.sessions.get(handle)?.terminate(); window.sessions.delete(handle); }"


@contextmanager
def web_sessions(
    folder: Path, runtime: Path | None = None, browser: str | None = None, arguments: Sequence[str] | None = None
) -> Iterator[WebSessions]:
    """A headless Chromium that can make sessions of the model files below ``folder``.

    Args:
        folder: what :meth:`WebSessions.create`'s paths are relative to.
        runtime: the runtime folder (default: as :func:`edgeinfer_browser.headless.page.find_runtime` finds it).
        browser: executable of a Chromium (default: the one on the PATH).
        arguments: Chromium's; the default gives WebGPU an adapter.

    Raises:
        InputError: when there is no runtime folder or no Chromium; the message says how to get one.
    """
    given = () if arguments is None else (arguments,)
    with (
        site_folder({"edgeinfer": find_runtime(runtime), "files": folder}) as site,
        serving_files(site) as url,
        page_at(url, browser, *given) as page,
    ):
        yield WebSessions(page)


class WebSessions:
    """Makes :class:`WebSession` objects on one page, of any browser: a site with ``edgeinfer/`` and ``files/``."""

    def __init__(self, page: Page) -> None:
        page.evaluate(_START)
        self.page = page
        self._next = 1

    def create(self, files: Sequence[str], execution_provider: str = "wasm", outputs: Sequence[str] = ()) -> WebSession:
        """A session of ``files``: the .onnx file first, then its external data.

        Args:
            files: their paths in the folder.
            execution_provider: ``wasm`` or ``webgpu``.
            outputs: names of the outputs that runs give; () is all that the graph has.

        Raises:
            SessionError: when onnxruntime-web refuses the model, with its message.
        """
        handle, self._next = self._next, self._next + 1
        module, wasm = BUILDS[execution_provider]
        argument = {"handle": handle, "executionProvider": execution_provider, "module": module, "wasm": wasm}
        answer = self.page.evaluate(_CREATE, argument | {"files": list(files), "outputs": list(outputs)})
        session = WebSession(self.page, handle, execution_provider, answer)
        try:
            value = _value(answer)
            session.wasm_bytes, session.version = value["wasmBytes"], value["version"]
        except BaseException:
            session.close()
            raise
        return session


class WebSession:
    """One InferenceSession in a worker of its own. Use it in a ``with`` statement, or call :meth:`close`."""

    def __init__(self, page: Page, handle: int, execution_provider: str, answer: Mapping[str, Any]) -> None:
        self._page = page
        self._handle = handle
        self.execution_provider = execution_provider
        #: Milliseconds that the worker took to start the runtime and create the session.
        self.create_ms: float = answer.get("milliseconds", 0.0)
        #: Bytes of WASM linear memory right after the session was created.
        self.wasm_bytes = 0
        #: onnxruntime-web's version.
        self.version = ""

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """One run: output name -> array.

        Raises:
            RunError: when onnxruntime-web rejects it.
        """
        value = self._ask("run", feeds)
        payload, outputs, at = base64.b64decode(value["payload"]), {}, 0
        for entry in value["tensors"]:
            end = at + entry["bytes"]
            tensor = Tensor.of(entry["dtype"], entry["dims"], payload[at:end])
            outputs[entry["name"]], at = tensor.numpy().copy(), end
        return outputs

    def time(self, feeds: Mapping[str, Array], runs: int) -> list[float]:
        """Milliseconds of each of ``runs`` runs, taken inside the worker."""
        return [float(ms) for ms in self._ask("time", feeds, runs)["milliseconds"]]

    def memory(self) -> int:
        """Bytes of WASM linear memory now. It never shrinks, so this is the peak so far."""
        return int(self._ask("memory", {})["wasmBytes"])

    def close(self) -> None:
        """Terminate the worker, which gives all of its memory back."""
        self._page.evaluate(_CLOSE, self._handle)

    def __enter__(self) -> WebSession:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _ask(self, what: str, feeds: Mapping[str, Array], runs: int = 0) -> dict[str, Any]:
        tensors = {name: Tensor.from_numpy(np.ascontiguousarray(array)) for name, array in feeds.items()}
        entries = [
            {"name": name, "dtype": tensor.dtype, "dims": list(tensor.dims), "bytes": tensor.data.nbytes}
            for name, tensor in tensors.items()
        ]
        payload = base64.b64encode(b"".join(tensor.data.tobytes() for tensor in tensors.values())).decode()
        argument = {"handle": self._handle, "type": what, "tensors": entries, "payload": payload, "runs": runs}
        return _value(self._page.evaluate(_ASK, argument))


def _value(answer: Mapping[str, Any]) -> dict[str, Any]:
    if answer.get("error"):
        error = answer["error"]
        raise from_fields(error["name"], error["message"], error.get("details", {}))
    value: dict[str, Any] = answer["value"]
    return value
