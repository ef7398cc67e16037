"""The package's own ``api`` tier against the real server on loopback, and against servers that misbehave."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from edgeinfer_browser import pipeline
from edgeinfer_browser.backends.remote import Remote
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.errors import EdgeInferError, RateLimitedError, RemoteError
from edgeinfer_browser.headless.serving import serving
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.tensors import Tensor
from tests.unit import fakes, server_models


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    server_models.tiny(folder)
    return folder


@pytest.fixture(scope="module")
def url(models: Path) -> Iterator[str]:
    with serving(models, "--api-prefix", "/api") as url:
        yield f"{url}api/"


def remote(url: str, manifest: ModelManifest, name: str = "tiny", request: float = 30, total: float = 60) -> Remote:
    return Remote(NativeBridge(), url, name, manifest, request_seconds=request, total_seconds=total)


def manifest_of(models: Path, name: str = "tiny") -> ModelManifest:
    return ModelManifest.from_json((models / name / "edgeinfer.json").read_bytes(), name)


def steps(count: int) -> dict[str, Tensor]:
    return {"steps": Tensor.from_values("int64", [1], [count])}


async def test_an_answer_is_native_onnx_runtime_s(url: str, models: Path) -> None:
    backend = remote(url, manifest_of(models))
    many = await backend.run_many([fakes.feeds(2, 4, 3), fakes.feeds(2, 6, 5, 3)])
    assert [each["logits"].rows() for each in many] == [[[-1.0, 1.0]], [[-1.0, 1.0]]]


async def test_the_pipeline_gives_the_same_on_both_tiers(url: str, models: Path) -> None:
    texts = ["good", "the awful film", "great \ud83d film"]
    answers = []
    for tier in ("api", "native"):
        pipe = await pipeline("text-classification", model=str(models / "tiny"), api=url, tier=tier)
        answers.append(await pipe(texts))
        assert pipe.info.tier == tier
        await pipe.close()
    assert answers[0] == answers[1]


async def test_another_revision_is_refused_by_name(url: str) -> None:
    with pytest.raises(RemoteError, match=r"answered 409: .*'r1'") as caught:
        await remote(url, fakes.model("fp32")).run(fakes.feeds(2, 4, 3))
    assert caught.value.details["status"] == 409


async def test_an_unknown_model(url: str, models: Path) -> None:
    with pytest.raises(RemoteError, match=r"answered 404: There is no model 'tin' here\. Served: tiny"):
        await remote(url, manifest_of(models), "tin").run(fakes.feeds(2, 4, 3))


async def test_a_run_that_fails_says_what_the_server_said(url: str, models: Path) -> None:
    with pytest.raises(RemoteError, match="answered 500: Native ONNX Runtime rejected the run"):
        await remote(url, manifest_of(models)).run(fakes.feeds(2, 99_999, 3))


async def test_a_failed_run_is_not_tried_again(models: Path) -> None:
    asked: list[bytes] = []
    async with canned(b"500 Internal Server Error", b'{"error": "broken"}', asked=asked) as url:
        with pytest.raises(RemoteError, match="answered 500: broken"):
            await remote(url, manifest_of(models)).run(fakes.feeds(2, 4, 3))
    assert len(asked) == 1


async def test_429_is_waited_out_as_retry_after_says(models: Path) -> None:
    body = b'{"outputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [7]}]}'
    async with canned(b"200 OK", body, first=(b"429 Too Many Requests", b"Retry-After: 1\r\n")) as url:
        started = time.monotonic()
        outputs = await remote(url, manifest_of(models)).run(fakes.feeds(2, 4, 3))
        assert time.monotonic() - started >= 1
    assert list(outputs["x"].values()) == [7.0]


async def test_429_without_time_to_wait_is_an_error_that_says_when(models: Path) -> None:
    async with canned(b"429 Too Many Requests", b"{}", headers=b"Retry-After: 1\r\n") as url:
        with pytest.raises(RateLimitedError, match=r"Try again in 1 s\.") as caught:
            await remote(url, manifest_of(models), total=0.5).run(fakes.feeds(2, 4, 3))
        assert caught.value.details["retry_after"] == 1


async def test_a_server_that_never_answers(models: Path) -> None:
    never = asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await never.wait()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        with pytest.raises(EdgeInferError, match="tiny/infer"):
            await remote(url, manifest_of(models), request=0.1, total=0.3).run(fakes.feeds(2, 4, 3))
        never.set()


async def test_a_server_that_is_down(unused_port: int, models: Path) -> None:
    with pytest.raises(RemoteError, match="gave no answer"):
        await remote(f"http://127.0.0.1:{unused_port}/", manifest_of(models), total=0.5).run(fakes.feeds(2, 4, 3))


NONSENSE = {
    "HTML": b"<!doctype html><title>Welcome</title>",
    "nothing": b"",
    "other JSON": b'{"result": []}',
    "no outputs": b'{"outputs": 3}',
    "an error with 200": b'{"error": "no"}',
    "a broken tensor": b'{"outputs": [{"name": "logits", "shape": [1, 2], "datatype": "FP32", "data": [1]}]}',
    "values that are null": b'{"outputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [null]}]}',
}


@pytest.mark.parametrize("body", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_with_200_is_an_error(body: bytes, models: Path) -> None:
    async with canned(b"200 OK", body) as url:
        with pytest.raises(RemoteError, match="not with an Open Inference Protocol response"):
            await remote(url, manifest_of(models)).run(fakes.feeds(2, 4, 3))


async def test_values_that_are_not_finite_are_an_error(models: Path) -> None:
    body = b'{"outputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [NaN]}]}'
    async with canned(b"200 OK", body) as url:
        with pytest.raises(EdgeInferError, match="not finite"):
            await remote(url, manifest_of(models)).run(fakes.feeds(2, 4, 3))


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@asynccontextmanager
async def canned(
    status: bytes,
    body: bytes,
    headers: bytes = b"",
    *,
    first: tuple[bytes, bytes] | None = None,
    asked: list[bytes] | None = None,
) -> AsyncIterator[str]:
    """A server that answers everything with the same bytes, but for the status and headers of ``first``."""
    answers = [first] if first else []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        request = await reader.readexactly(int(length.partition(b":")[2]))
        if asked is not None:
            asked.append(request)
        line, more = answers.pop() if answers else (status, headers)
        common = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
        writer.write(b"HTTP/1.1 " + line + b"\r\n" + more + common + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
