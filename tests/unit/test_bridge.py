"""PyodideBridge over a fake shim: one call each way, errors by name, nothing left behind."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from edgeinfer_browser import bridge as bridge_module
from edgeinfer_browser.bridge import Bridge, Notice, PyodideBridge, SessionSpec
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.errors import DeadlineError, EdgeInferError, NotFoundError
from edgeinfer_browser.wire import from_frame, to_frame
from tests.unit.fakes import FakeBridge, feeds, logits

PROTOCOL = Path(bridge_module.__file__).parents[1] / "js_shim" / "protocol.d.ts"


class Payload:
    """A Uint8Array as Pyodide shows it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def to_bytes(self) -> bytes:
        return self.data


class Proxy:
    """What create_proxy gives."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self.destroyed = False

    def __call__(self, *args: object) -> object:
        assert not self.destroyed, "a destroyed proxy was called"
        return self.function(*args)

    def destroy(self) -> None:
        assert not self.destroyed, "destroyed twice"
        self.destroyed = True


class Shim:
    """Answers each method with ``answer`` and keeps what it was called with."""

    def __init__(self, answer: object = None, payload: bytes = b"", error: object = None) -> None:
        self.answer, self.payload, self.error = answer, payload, error
        self.calls: list[tuple[str, Any, bytes, int, Proxy | None]] = []
        self.aborted: list[int] = []
        self.during: Callable[[Proxy | None], Any] | None = None

    def __getattr__(self, method: str) -> Any:
        async def call(text: str, payload: Any, number: int, proxy: Proxy | None) -> Any:
            self.calls.append((method, json.loads(text), payload, number, proxy))
            if self.during:
                outcome = self.during(proxy)
                if inspect.isawaitable(outcome):
                    await outcome
            error = json.dumps(self.error) if self.error else ""
            return SimpleNamespace(error=error, json=json.dumps(self.answer or {}), payload=Payload(self.payload))

        return call

    def abort(self, number: int) -> None:
        self.aborted.append(number)


@pytest.fixture(autouse=True)
def proxies(monkeypatch: pytest.MonkeyPatch) -> list[Proxy]:
    """Stand-ins for pyodide.ffi; every proxy that was made."""
    made: list[Proxy] = []

    def create_proxy(function: Callable[..., object]) -> Proxy:
        made.append(Proxy(function))
        return made[-1]

    ffi = ModuleType("pyodide.ffi")
    ffi.__dict__.update(create_proxy=create_proxy, to_js=lambda value: value)
    monkeypatch.setitem(sys.modules, "pyodide", ModuleType("pyodide"))
    monkeypatch.setitem(sys.modules, "pyodide.ffi", ffi)
    return made


FILES = (("onnx/m.onnx", "key"),)
SPEC = SessionSpec("wasm", "https://h.test/ort.mjs", "https://h.test/ort.wasm", FILES, 9.0, ("logits",))
FETCH: dict[str, Any] = {"sha256": "ab", "size": 3, "timeout": 5.0}
FILE = {"url": "u", "sha256": "ab", "bytes": 3, "timeout": 5.0}

#: (how Python calls it, shim's method, arguments there, its answer and bytes, what Python gets)
ROUND_TRIPS: list[tuple[Callable[[PyodideBridge], Any], str, dict[str, Any], Any, bytes, Any]] = [
    (lambda b: b.probe(), "probe", {}, {"host": "worker"}, b"", {"host": "worker"}),
    (lambda b: b.absolute_url("x"), "absoluteUrl", {"url": "x"}, {"url": "https://h.test/x"}, b"", "https://h.test/x"),
    (lambda b: b.fetch_file("u", **FETCH), "fetchFile", FILE, {}, b"abc", b"abc"),
    (lambda b: b.fetch_to_cache("u", **FETCH, on_progress=None), "fetchToCache", FILE, {"key": "k"}, b"", "k"),
    (
        lambda b: b.create_session(SPEC),
        "createSession",
        {
            "executionProvider": "wasm",
            "moduleUrl": "https://h.test/ort.mjs",
            "wasmUrl": "https://h.test/ort.wasm",
            "files": [{"path": "onnx/m.onnx", "key": "key"}],
            "outputs": ["logits"],
            "timeout": 9.0,
        },
        {"session": 4, "inputNames": []},
        b"",
        (4, {"session": 4, "inputNames": []}),
    ),
    (lambda b: b.release(4), "release", {"session": 4}, {}, b"", None),
    (
        lambda b: b.forget_old_revisions("f/", [("f/a", "0")]),
        "forgetOldRevisions",
        {"folder": "f/", "current": [{"url": "f/a", "sha256": "0"}]},
        {"removed": 1},
        b"",
        None,
    ),
    (lambda b: b.recall("k"), "recall", {"key": "k"}, {"text": None}, b"", None),
    (lambda b: b.recall("k"), "recall", {"key": "k"}, {"text": "note"}, b"", "note"),
    (lambda b: b.remember("k", "note"), "remember", {"key": "k", "text": "note"}, {}, b"", None),
]


@pytest.mark.parametrize(
    ("ask", "method", "arguments", "answer", "payload", "result"), ROUND_TRIPS, ids=[each[1] for each in ROUND_TRIPS]
)
async def test_each_method_crosses_once_each_way(
    ask: Callable[[PyodideBridge], Any], method: str, arguments: Any, answer: Any, payload: bytes, result: Any
) -> None:
    shim = Shim(answer, payload)
    assert await ask(PyodideBridge(shim)) == result
    assert [call[:2] for call in shim.calls] == [(method, arguments)]


async def test_a_run_sends_one_frame_and_reads_one_frame() -> None:
    header, payload = to_frame(logits(0.25, 0.75))
    shim = Shim(json.loads(header), payload)
    outputs = await PyodideBridge(shim).run(3, feeds(2, 4, 3), timeout=7.5)
    assert outputs["logits"].rows() == [[0.25, 0.75]]
    ((method, arguments, sent, _, _),) = shim.calls
    assert (method, arguments["session"], arguments["timeout"]) == ("run", 3, 7.5)
    assert from_frame(json.dumps(arguments["tensors"]), sent)["input_ids"].rows() == [[2, 4, 3]]


async def test_timed_runs_cross_with_their_number() -> None:
    shim = Shim({"milliseconds": [1.0, 2.0]})
    assert await PyodideBridge(shim).time_session(3, feeds(4), runs=2, timeout=1) == [1.0, 2.0]
    assert (shim.calls[0][0], shim.calls[0][1]["runs"]) == ("timeSession", 2)


async def test_a_request_crosses_with_its_body_and_comes_back_whatever_its_status() -> None:
    shim = Shim({"status": 503, "headers": {"retry-after": "3"}}, b"busy")
    answer = await PyodideBridge(shim).request("POST", "u", body=b"abc", headers={"A": "b"}, timeout=2)
    assert (answer.status, answer.headers, answer.body) == (503, {"retry-after": "3"}, b"busy")
    method, arguments, payload, _, _ = shim.calls[0]
    assert (method, payload) == ("request", b"abc")
    assert arguments == {"method": "POST", "url": "u", "headers": {"A": "b"}, "timeout": 2}


@pytest.mark.parametrize("method", ["fetch_file", "fetch_to_cache"])
async def test_what_was_given_up_crosses_as_notices(method: str) -> None:
    shim = Shim({"key": "k", "notices": [{"kind": "quota_exceeded", "message": "It is full."}]})
    told: list[Notice] = []
    options = FETCH | ({"on_progress": None} if method == "fetch_to_cache" else {})
    await getattr(PyodideBridge(shim), method)("u", **options, on_notice=told.append)
    assert told == [Notice("quota_exceeded", "It is full.")]
    await getattr(PyodideBridge(shim), method)("u", **options)  # nobody listens


async def test_each_call_has_a_number_of_its_own() -> None:
    shim = Shim()
    bridge = PyodideBridge(shim)
    await asyncio.gather(*(bridge.probe() for _ in range(5)))
    assert len({call[3] for call in shim.calls}) == 5


@pytest.mark.parametrize(
    ("name", "kind"),
    [("NotFoundError", NotFoundError), ("DeadlineError", DeadlineError), ("TypeError", EdgeInferError)],
)
async def test_an_error_of_the_shim_is_raised_by_its_name(name: str, kind: type[EdgeInferError]) -> None:
    shim = Shim(error={"name": name, "message": "why", "details": {"url": "u"}})
    with pytest.raises(kind, match="why") as caught:
        await PyodideBridge(shim).probe()
    assert type(caught.value) is kind
    assert caught.value.details == {"url": "u"}


async def test_an_error_without_details_is_raised_all_the_same() -> None:
    with pytest.raises(EdgeInferError, match="why"):
        await PyodideBridge(Shim(error={"name": "X", "message": "why"})).probe()


def to_cache(shim: Shim, told: list[tuple[int, int]]) -> Any:
    return PyodideBridge(shim).fetch_to_cache("u", **FETCH, on_progress=lambda *each: told.append(each))


async def test_progress_is_heard_and_its_proxy_is_destroyed(proxies: list[Proxy]) -> None:
    told: list[tuple[int, int]] = []
    shim = Shim({"key": "k"})
    shim.during = lambda proxy: proxy and proxy(1, 3)
    await to_cache(shim, told)
    assert told == [(1, 3)]
    assert [proxy.destroyed for proxy in proxies] == [True]


async def test_no_proxy_is_made_where_nobody_listens(proxies: list[Proxy]) -> None:
    await PyodideBridge(Shim({"key": "k"})).fetch_to_cache("u", **FETCH, on_progress=None)
    assert proxies == []


@pytest.mark.parametrize("how", ["error", "exception", "bad answer"])
async def test_the_proxy_is_destroyed_when_the_call_fails(proxies: list[Proxy], how: str) -> None:
    shim = Shim(error={"name": "NotFoundError", "message": "404"} if how == "error" else None)

    def fail(_: object) -> None:
        raise OSError("JsException")

    shim.during = fail if how == "exception" else None
    with pytest.raises((EdgeInferError, OSError, KeyError)):
        await to_cache(shim, [])
    assert [proxy.destroyed for proxy in proxies] == [True]


async def test_a_cancelled_call_aborts_what_it_began_and_destroys_its_proxy(proxies: list[Proxy]) -> None:
    shim = Shim({"key": "k"})
    shim.during = lambda _: asyncio.Event().wait()
    task = asyncio.ensure_future(to_cache(shim, []))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shim.aborted == [shim.calls[0][3]]
    assert proxies[0].destroyed


async def test_a_call_that_ends_well_aborts_nothing() -> None:
    shim = Shim()
    await PyodideBridge(shim).probe()
    assert shim.aborted == []


async def test_the_shim_that_the_host_registered_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = ModuleType("edgeinfer_shim")
    registered.__dict__["shim"] = Shim({"host": "window"})
    monkeypatch.setitem(sys.modules, "edgeinfer_shim", registered)
    assert await PyodideBridge().probe() == {"host": "window"}


def methods(kind: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: inspect.signature(function) for name, function in found if not name.startswith("_")}


@pytest.mark.parametrize("kind", [PyodideBridge, NativeBridge, FakeBridge])
def test_every_bridge_has_the_methods_of_the_protocol_and_no_others(kind: type) -> None:
    wanted, found = methods(Bridge), methods(kind)
    assert found.keys() == wanted.keys()
    for name, signature in wanted.items():
        assert list(found[name].parameters) == list(signature.parameters), name


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def test_the_shims_interface_is_the_protocols_in_camel_case_and_abort() -> None:
    source = PROTOCOL.read_text(encoding="utf-8")
    body = re.search(r"export interface Shim \{(.*?)\n\}", source, re.DOTALL)
    assert body is not None
    declared = re.findall(r"^  (\w+)[:(]", body[1], re.MULTILINE)
    assert sorted(declared) == sorted([*map(camel, methods(Bridge)), "abort"])
