"""Models by hub id, from a hub on loopback: huggingface_hub is the real one, only its endpoint is ours."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from edgeinfer_browser.errors import FetchError, InputError, NotFoundError
from edgeinfer_browser.packing.hub import fetch
from tests import tiny_model

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Models by id, their files by path; every request for a file is noted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.models: dict[str, dict[str, bytes]] = {}
        self.status = 0
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        print(format % args)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        model = next((name for name in self.server.models if f"/{name}/" in f"{path}/"), None)
        if self.server.status:
            self.answer(self.server.status, b"{}")
        elif model is None:
            self.answer(401, b"{}", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        elif path.startswith(f"/api/models/{model}"):
            self.about(model, path.removeprefix(f"/api/models/{model}").strip("/"))
        else:
            self.file(model, path.partition("/resolve/")[2].partition("/")[2])

    def about(self, model: str, what: str) -> None:
        files = self.server.models[model]
        kind, _, revision = what.partition("/")
        if revision not in ("", "main", COMMIT):
            return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "No such revision"})
        if kind == "tree":
            tree = [{"type": "file", "path": p, "size": len(c), "oid": _oid(c)} for p, c in files.items()]
            return self.answer(200, json.dumps(tree).encode(), {"X-Repo-Commit": COMMIT})
        info = {"id": model, "sha": COMMIT, "siblings": [{"rfilename": path} for path in files]}
        return self.answer(200, json.dumps(info).encode())

    def file(self, model: str, path: str) -> None:
        content = self.server.models[model].get(path)
        if self.command == "GET":
            self.server.asked.append(path)
        if content is None:
            return self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        return self.answer(200, content, {"ETag": f'"{_oid(content)}"', "X-Repo-Commit": COMMIT})

    def answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _oid(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_only_what_packing_reads_is_fetched(hub: Hub, tmp_path: Path) -> None:
    wanted = {"config.json": b"{}", "onnx/model.onnx": b"graph", "onnx/model.onnx_data": b"weights"}
    hub.models["them/small"] = wanted | {"onnx/model_q4.onnx": b"q4", "model.safetensors": b"torch", "a.gguf": b"x"}
    folder = fetch("them/small", cache=tmp_path)
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == wanted


def test_weights_are_fetched_only_when_there_is_no_graph(hub: Hub, tmp_path: Path) -> None:
    hub.models["them/torch"] = {"config.json": b"{}", "model.safetensors": b"torch", "pytorch_model.bin": b"the same"}
    folder = fetch("them/torch", cache=tmp_path)
    assert (folder / "model.safetensors").read_bytes() == b"torch"
    assert "pytorch_model.bin" not in hub.asked


def test_a_second_fetch_asks_for_no_file(hub: Hub, tmp_path: Path) -> None:
    hub.models["them/small"] = {"config.json": b"{}", "onnx/model.onnx": b"graph"}
    first = fetch("them/small", cache=tmp_path)
    hub.asked.clear()
    assert fetch("them/small", revision=COMMIT, cache=tmp_path) == first
    assert hub.asked == []


def test_an_unknown_model_is_named(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no them/other.*hf auth login") as caught:
        fetch("them/other", cache=tmp_path)
    assert caught.value.details == {"url": "them/other", "status": 401}


def test_an_unknown_revision_is_named(hub: Hub, tmp_path: Path) -> None:
    hub.models["them/small"] = {"config.json": b"{}"}
    with pytest.raises(NotFoundError, match="them/small at revision v9"):
        fetch("them/small", revision="v9", cache=tmp_path)


def test_a_hub_that_fails_is_told(hub: Hub, tmp_path: Path) -> None:
    hub.status = 403
    with pytest.raises(FetchError, match=r"them/small could not be fetched.*give their folder") as caught:
        fetch("them/small", cache=tmp_path)
    assert not isinstance(caught.value, NotFoundError)


def test_a_hub_id_is_packed(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a user does it, in a process of its own; the cache is a folder of links, as the hub's is."""
    tiny_model.make(tmp_path / "packed", tmp_path / "source")
    files = [path for path in (tmp_path / "source").rglob("*") if path.is_file() and "quantized" not in path.name]
    hub.models["them/tiny"] = {str(path.relative_to(tmp_path / "source")): path.read_bytes() for path in files}
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    words = ["pack", "them/tiny", str(tmp_path / "tiny"), "--task", "text-classification", "--dtypes", "fp32"]
    words += ["--revision", COMMIT, "--skip-browser-check"]
    command = [sys.executable, "-m", "edgeinfer_browser.cli", *words]
    subprocess.run(command, check=True, capture_output=True, text=True)
    manifest = json.loads((tmp_path / "tiny/edgeinfer.json").read_text("utf-8"))
    assert manifest["labels"] == ["negative", "positive"]
    assert list(manifest["variants"]) == ["fp32"]


def test_no_network_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(FetchError, match=r"them/small could not be fetched from http.*give their folder"):
            fetch("them/small", cache=tmp_path)


def test_what_cannot_be_an_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a hub id"):
        fetch("them/..bad..", cache=tmp_path)
