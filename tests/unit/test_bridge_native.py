"""The bridge of CPython: files from the disk or over HTTP, verified, and each failure by its name."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from edgeinfer_browser import download
from edgeinfer_browser.answer_check import refusal, retry_after
from edgeinfer_browser.bridge import Notice, OnNotice, SessionSpec
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.errors import (
    AccessDeniedError,
    ContentError,
    DeadlineError,
    EdgeInferError,
    FetchError,
    IntegrityError,
    NotFoundError,
    RemoteError,
    ServerError,
    SessionError,
    TooManyRequestsError,
)
from edgeinfer_browser.manifest import ModelFile, Variant

DATA = b"a model" * 100
SHA256 = hashlib.sha256(DATA).hexdigest()
PAGE = b"<!DOCTYPE html><title>App</title>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"


Log = list[tuple[str, str]]


class Handler(BaseHTTPRequestHandler):
    """Answers by path, ranges too; ``log`` holds (path, Range) of each request."""

    log: Log
    #: Of a path: how many answers break off after 300 bytes.
    cuts: dict[str, int]

    def do_GET(self) -> None:
        path = self.path.rpartition("/")[2]
        self.log.append((path, self.headers.get("Range", "")))
        if path == "moved":
            self._head(302, b"", {"Location": "/model.onnx"})
            return
        if path == "slow":
            time.sleep(0.15)
        if path == "busy" and len(self.log) > 1:
            path = "model.onnx"
        bodies = {"model.onnx": DATA, "norange": DATA, "slow": DATA, "empty": b"", "page": PAGE, "pointer": POINTER}
        bodies |= {"error.onnx": b'{"error": "no such model"}', "long": DATA * 2}
        known = {"gone": 410, "broken": 500, "forbidden": 403, "private": 401, "busy": 429, "part": 206}
        self._send(known.get(path, 200 if path in bodies else 404), bodies.get(path, b"no"), path)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._head(418, body[::-1], {"X-Said": self.headers.get("X-Ask", "")})

    def _send(self, status: int, body: bytes, path: str) -> None:
        start = int((self.headers.get("Range") or "bytes=0-")[len("bytes=") : -1]) if path != "norange" else 0
        told = f"bytes {start}-{len(body) - 1}/{len(body)}"
        headers = {"Content-Range": told} if start else {"Retry-After": "0"} if status == 429 else {}
        cut = self.cuts.get(path, 0)
        self.cuts[path] = cut - 1
        self._head(206 if start else status, body[start:], {"ETag": '"1"', **headers}, 300 if cut > 0 else None)

    def _head(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body[:cut])
        except ConnectionError:
            return  # the client gave up

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        return


@pytest.fixture(scope="module")
def http_server() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: http.serve_forever(poll_interval=0.01))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/"
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def server(http_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    Handler.log, Handler.cuts = [], {}
    monkeypatch.setattr(download, "BACKOFF_SECONDS", 0.001)
    return http_server


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
        ("broken", ServerError, "500"),
        ("forbidden", AccessDeniedError, "403"),
        ("private", AccessDeniedError, "sign-in"),
        ("empty", ContentError, "empty"),
        ("part", FetchError, "206"),
        ("error.onnx", ContentError, "JSON instead of the file: .*no such model"),
        ("page", ContentError, "HTML"),
        ("pointer", ContentError, "git lfs pull"),
    ],
)
async def test_an_answer_that_is_not_the_file_is_told_with_its_url(
    server: str, cache_home: Path, path: str, kind: type[EdgeInferError], word: str
) -> None:
    for sha256 in ("", SHA256):
        with pytest.raises(kind, match=word) as caught:
            await fetch(f"{server}{path}", sha256)
        assert type(caught.value) is kind
        assert caught.value.details["url"] == f"{server}{path}"
        assert [each for each in cache_home.rglob("*") if each.is_file()] == []


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


@pytest.mark.parametrize(
    ("sha256", "size", "expected", "actual"),
    [
        ("0" * 64, 0, f"sha256 {'0' * 64}", f"sha256 {SHA256}"),
        (SHA256, 7, "7 bytes", "more than 7 bytes"),
        (SHA256, 701, "701 bytes", "700 bytes"),
    ],
)
async def test_another_file_is_an_integrity_error_with_both_after_one_more_try(
    server: str, tmp_path: Path, sha256: str, size: int, expected: str, actual: str
) -> None:
    (tmp_path / "model.onnx").write_bytes(DATA)
    for url in (f"{server}model.onnx", str(tmp_path / "model.onnx")):
        with pytest.raises(IntegrityError) as caught:
            await fetch(url, sha256, size)
        assert caught.value.details == {"url": url, "expected": expected, "actual": actual}
    assert len(Handler.log) == 2


async def test_a_cut_download_is_taken_up_where_it_broke_off(server: str) -> None:
    Handler.cuts["model.onnx"] = 2
    for sha256, size in (("", 0), (SHA256, len(DATA))):
        Handler.log, Handler.cuts = [], {"model.onnx": 2}
        assert await fetch(f"{server}model.onnx", sha256, size) == DATA
        assert [asked for _, asked in Handler.log] == ["", "bytes=300-", "bytes=600-"]


async def test_a_server_without_ranges_begins_anew(server: str) -> None:
    Handler.cuts["norange"] = 1
    assert await fetch(f"{server}norange", SHA256, len(DATA)) == DATA
    assert [asked for _, asked in Handler.log] == ["", "bytes=300-"]


async def test_a_download_that_ended_for_good_goes_on_the_next_time(
    server: str, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Handler.cuts["model.onnx"] = 1
    monkeypatch.setattr(download, "MOST_TRIES", 1)
    with pytest.raises(FetchError, match="broke off after 300 bytes"):
        await fetch(f"{server}model.onnx", SHA256, len(DATA))
    assert [path.suffix for path in cache_home.rglob("*") if path.is_file()] == [".part"]
    assert await NativeBridge().fetch_file(f"{server}model.onnx", sha256=SHA256, size=len(DATA), timeout=5) == DATA
    assert Handler.log[-1] == ("model.onnx", "bytes=300-")
    assert [path.name for path in cache_home.rglob("*") if path.is_file()] == ["model.onnx"]


async def test_retry_after_is_honoured_once(server: str) -> None:
    assert await fetch(f"{server}busy", SHA256, len(DATA)) == DATA
    assert len(Handler.log) == 2


@pytest.mark.parametrize(("after", "seconds"), [("3600", 3600), ("", None), ("soon", None)])
def test_a_429_says_how_long(after: str, seconds: float | None) -> None:
    error = refusal(429, {"retry-after": after}, "u")
    assert isinstance(error, TooManyRequestsError)
    assert error.details == {"url": "u", "status": 429, "retry_after": seconds}


def test_retry_after_may_be_a_date() -> None:
    assert 0 <= (retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) or 0) < 1
    assert (retry_after({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}) or 0) > 10**6


async def to_cache(url: str, on_notice: OnNotice | None = None) -> tuple[str, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    key = await NativeBridge().fetch_to_cache(
        url,
        sha256=SHA256,
        size=len(DATA),
        timeout=5,
        on_progress=lambda *each: told.append(each),
        on_notice=on_notice,
    )
    return key, told


async def test_a_file_is_downloaded_once(server: str) -> None:
    keys = {(await to_cache(f"{server}model.onnx"))[0] for _ in range(3)}
    assert (len(keys), len(Handler.log)) == (1, 1)


async def test_a_damaged_file_of_the_cache_is_fetched_anew_and_told(server: str) -> None:
    key, _ = await to_cache(f"{server}model.onnx")
    Path(key).write_bytes(DATA[::-1])
    told: list[Notice] = []
    assert await to_cache(f"{server}model.onnx", told.append) == (key, [(700, 700), (700, 700)])
    assert [notice.kind for notice in told] == ["cache_entry_damaged"]
    assert Path(key).read_bytes() == DATA


async def test_downloads_of_one_file_at_once_do_not_mix(server: str, cache_home: Path) -> None:
    keys = await asyncio.gather(*(to_cache(f"{server}model.onnx") for _ in range(4)))
    assert {Path(key).read_bytes() for key, _ in keys} == {DATA}
    assert [path.name for path in cache_home.rglob("*") if path.is_file()] == ["model.onnx"]


async def test_where_nothing_can_be_kept_the_file_is_had_all_the_same(
    server: str, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_home.write_text("a file where the folder should be")
    told: list[Notice] = []
    key, _ = await to_cache(f"{server}model.onnx", told.append)
    assert Path(key).read_bytes() == DATA
    assert [notice.kind for notice in told] == ["cache_unavailable"]
    assert str(cache_home) in told[0].message


async def test_a_stale_partial_download_is_given_up(server: str, cache_home: Path) -> None:
    key, _ = await to_cache(f"{server}model.onnx")
    old, young = Path(key).with_name(".a.part"), Path(key).with_name(".b.part")
    for path in (old, young):
        path.write_bytes(b"x")
    os.utime(old, (0, 0))
    Path(key).unlink()
    await to_cache(f"{server}model.onnx")
    assert (old.exists(), young.exists()) == (False, True)


async def test_old_revisions_are_removed_and_nothing_else(server: str) -> None:
    base = f"{server}models/tiny/"
    places = ("", "onnx/", "1_Pooling/", "nested/onnx/")
    keys = [Path((await to_cache(f"{base}{path}model.onnx"))[0]) for path in places]
    old = [path.with_name("model_fp16.onnx") for path in keys]
    for path in old:
        path.write_bytes(b"old")
    await NativeBridge().forget_old_revisions(base, [(f"{base}{path}model.onnx", SHA256) for path in places[:3]])
    assert [path.exists() for path in keys] == [True, True, True, True]
    assert [path.exists() for path in old] == [False, False, False, True]
    await NativeBridge().forget_old_revisions("models/tiny/", [])  # a folder on the disk is nobody's cache


async def test_optional_data_that_is_not_there_is_asked_for_once_and_is_nothing_to_tell(server: str) -> None:
    folder = await ModelFolder.at(f"{server}models/tiny", NativeBridge())
    data = ModelFile("onnx/model.onnx_data", optional=True)
    fetched = await folder.fetch(Variant("fp32", (ModelFile("onnx/model.onnx"), data)))
    assert [path for path, _ in fetched] == ["onnx/model.onnx"]
    assert [path for path, _ in Handler.log] == ["model.onnx", "model.onnx_data"]
    assert folder.notices == {}


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
