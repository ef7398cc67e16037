"""The bridge of CPython: files from the disk or over HTTP, verified, and each failure by its name."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from edgeinfer_browser.bridge import SessionSpec
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.errors import (
    ContentError,
    DeadlineError,
    EdgeInferError,
    FetchError,
    IntegrityError,
    NotFoundError,
    RemoteError,
    SessionError,
)

DATA = b"a model" * 100
SHA256 = hashlib.sha256(DATA).hexdigest()
PAGE = b"<!DOCTYPE html><title>App</title>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"


class Handler(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:
        path = self.path.rpartition("/")[2]
        if path == "moved":
            self.send_response(302)
            self.send_header("Location", "/model.onnx")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path == "slow":
            time.sleep(0.15)
        bodies = {"model.onnx": DATA, "slow": DATA, "empty": b"", "page": PAGE, "pointer": POINTER}
        known = {"gone": 410, "broken": 500, "forbidden": 403}
        self._send(known.get(path, 200 if path in bodies else 404), bodies.get(path, b"no"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(418, body[::-1])

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Said", self.headers.get("X-Ask", ""))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            return  # the client gave up

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        return


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: http.serve_forever(poll_interval=0.01))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/"
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture(scope="module")
def dead() -> str:
    """A URL where nothing listens."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.server_close()
    return f"http://127.0.0.1:{http.server_port}/"


@pytest.fixture(autouse=True)
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


async def fetch(url: str, sha256: str = "", size: int = 0, timeout: float = 5) -> bytes:
    return await NativeBridge().fetch_file(url, sha256=sha256, size=size, timeout=timeout)


async def test_a_file_is_read_from_the_disk_and_verified(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(DATA)
    assert await fetch(str(tmp_path / "model.onnx")) == DATA
    assert await fetch(str(tmp_path / "model.onnx"), SHA256, len(DATA)) == DATA


@pytest.mark.parametrize("path", ["model.onnx", "moved"])
async def test_a_file_is_read_over_http_and_redirects_are_followed(server: str, path: str) -> None:
    assert await fetch(f"{server}{path}", SHA256, len(DATA)) == DATA


@pytest.mark.parametrize(
    ("path", "kind", "word"),
    [
        ("missing", NotFoundError, "404"),
        ("gone", NotFoundError, "410"),
        ("broken", FetchError, "500"),
        ("forbidden", FetchError, "403"),
        ("empty", ContentError, "empty"),
        ("page", ContentError, "HTML"),
        ("pointer", ContentError, "git lfs pull"),
    ],
)
async def test_an_answer_that_is_not_the_file_is_told_with_its_url(
    server: str, path: str, kind: type[EdgeInferError], word: str
) -> None:
    with pytest.raises(kind, match=word) as caught:
        await fetch(f"{server}{path}")
    assert type(caught.value) is kind
    assert caught.value.details["url"] == f"{server}{path}"


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://exa mple.test:x/"])
async def test_a_url_that_is_none_is_a_fetch_error(url: str) -> None:
    with pytest.raises(FetchError):
        await fetch(url)


async def test_a_host_that_does_not_answer_is_a_fetch_error(dead: str) -> None:
    with pytest.raises(FetchError, match="could not be fetched"):
        await fetch(f"{dead}model.onnx")


async def test_a_download_that_stalls_is_given_up(server: str) -> None:
    with pytest.raises(DeadlineError, match="waiting for more bytes"):
        await fetch(f"{server}slow", timeout=0.03)


@pytest.mark.parametrize(("content", "kind"), [(b"", ContentError), (PAGE, ContentError), (POINTER, ContentError)])
async def test_a_file_on_the_disk_that_is_not_the_file_is_told(
    tmp_path: Path, content: bytes, kind: type[EdgeInferError]
) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(kind):
        await fetch(str(path))


@pytest.mark.parametrize("name", ["missing", "missing/deeper", "."])
async def test_a_missing_file_or_a_folder_is_not_found_by_its_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="no file"):
        await fetch(str(tmp_path / name))


async def test_another_hash_is_an_integrity_error_with_both(server: str, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(DATA)
    for url in (f"{server}model.onnx", str(tmp_path / "model.onnx")):
        with pytest.raises(IntegrityError) as caught:
            await fetch(url, "0" * 64, 7)
        assert caught.value.details == {"url": url, "expected": "0" * 64, "actual": SHA256}


async def to_cache(url: str) -> tuple[str, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    key = await NativeBridge().fetch_to_cache(
        url, sha256=SHA256, size=len(DATA), timeout=5, on_progress=lambda *each: told.append(each)
    )
    return key, told


async def test_a_file_on_the_disk_is_used_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(DATA)
    key, told = await to_cache(str(tmp_path / "model.onnx"))
    assert key == str(tmp_path / "model.onnx")
    assert told == [(len(DATA), len(DATA))]


async def test_a_downloaded_file_is_kept_under_its_own_name_and_nothing_half_written_is_left(
    server: str, cache_home: Path
) -> None:
    key, _ = await to_cache(f"{server}onnx/model.onnx")
    assert (Path(key).name, Path(key).read_bytes()) == ("model.onnx", DATA)
    assert [path for path in cache_home.rglob("*") if path.is_file()] == [Path(key)]
    other, _ = await to_cache(f"{server}other/model.onnx")
    assert Path(other).parent != Path(key).parent


async def test_a_request_gives_back_whatever_was_answered(server: str) -> None:
    answer = await NativeBridge().request("POST", server, body=b"abc", headers={"X-Ask": "yes"}, timeout=5)
    assert (answer.status, answer.body, answer.headers["x-said"]) == (418, b"cba", "yes")


async def test_a_request_without_an_answer_is_a_remote_error(dead: str) -> None:
    for url in (dead, "http://[::1"):
        with pytest.raises(RemoteError, match="gave no answer"):
            await NativeBridge().request("POST", url, body=b"", headers={}, timeout=5)


async def test_a_request_that_takes_too_long_is_a_deadline_error(server: str) -> None:
    with pytest.raises(DeadlineError) as caught:
        await NativeBridge().request("GET", f"{server}slow", body=b"", headers={}, timeout=0.03)
    assert caught.value.details["seconds"] == 0.03


async def test_notes_are_kept_for_the_process() -> None:
    bridge = NativeBridge()
    assert await bridge.recall("fastest") is None
    await bridge.remember("fastest", "wasm")
    assert await bridge.recall("fastest") == "wasm"


async def test_sessions_of_onnxruntime_web_are_refused_and_releasing_one_never_fails() -> None:
    bridge = NativeBridge()
    with pytest.raises(SessionError, match="native tier"):
        await bridge.create_session(SessionSpec("wasm", "", "", (), 1))
    with pytest.raises(SessionError):
        await bridge.run(1, {}, timeout=1)
    await bridge.release(1)
