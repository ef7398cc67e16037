"""Limits: bodies, batches, the queue before each model, origins; each refusal is JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from edgeinfer_browser.server import Limits, create_app
from edgeinfer_browser.server.limits import Queue
from edgeinfer_browser.wire import HEADER_LENGTH
from tests.unit import server_models
from tests.unit.test_server_oip import INFER, as_json, refused

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    server_models.tiny(folder)
    return folder


@pytest.fixture(scope="module")
def small(models: Path) -> Iterator[TestClient]:
    """A server that takes little."""
    limits = Limits(body_bytes=1_000, batch=3, running=1, waiting=1)
    with TestClient(create_app(models, limits=limits, cors_origins=[ORIGIN])) as client:
        yield client


@pytest.fixture(scope="module")
def default(models: Path) -> Iterator[TestClient]:
    with TestClient(create_app(models)) as client:
        yield client


@pytest.mark.parametrize("path", ["/predict", INFER])
def test_a_body_that_says_it_is_too_large(small: TestClient, path: str) -> None:
    assert refused(small.post(path, content=b" " * 1_001), 413).startswith("The body is larger than 1000 bytes")


@pytest.mark.parametrize("path", ["/predict", INFER])
def test_a_body_that_does_not_say_how_large_it_is(small: TestClient, path: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(3):
            yield b" " * 500

    refused(small.post(path, content=chunks()), 413)


def test_a_body_as_large_as_it_may_be(small: TestClient) -> None:
    body = b'{"inputs": "good"}'
    assert small.post("/predict", content=body.ljust(1_000)).status_code == 200


def test_a_body_that_is_compressed(small: TestClient) -> None:
    assert "gzip" in refused(small.post(INFER, content=b"x", headers={"Content-Encoding": "gzip"}), 415)


def test_too_many_texts(small: TestClient) -> None:
    assert small.post("/predict", json={"inputs": ["a"] * 3}).status_code == 200
    assert refused(small.post("/predict", json={"inputs": ["a"] * 4}), 413).startswith('"inputs" has 4 items')


def test_too_many_rows(small: TestClient) -> None:
    request = as_json()
    for entry in request["inputs"]:
        entry.update(shape=[4, 1], data=[4] * 4)
    assert refused(small.post(INFER, json=request), 413).startswith("Input 'input_ids' has 4 items; the most is 3")


def test_the_defaults(default: TestClient) -> None:
    assert Limits() == Limits(body_bytes=8 * 2**20, batch=16_384, running=1, waiting=64)
    assert refused(default.post("/predict", json={"inputs": ["a"] * 16_385}), 413)


async def test_the_queue_admits_those_that_run_and_those_that_wait() -> None:
    queue = Queue(Limits(running=1, waiting=1))
    with queue.admit(), queue.admit():
        with pytest.raises(Exception, match="429") as caught, queue.admit():
            pass
        assert getattr(caught.value, "headers", None) == {"Retry-After": "1"}
    with queue.admit():
        pass


@pytest.fixture
async def app(models: Path) -> AsyncIterator[Starlette]:
    """One request may run and one may wait."""
    app = create_app(models, limits=Limits(running=1, waiting=1))
    async with app.router.lifespan_context(app):
        yield app


async def test_a_full_queue_is_429_with_retry_after(app: Starlette) -> None:
    queue: Queue = app.state.models["tiny"].queue
    await queue.turn.acquire()  # a run that takes its time
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        waiting = [asyncio.ensure_future(client.post(INFER, json=as_json())) for _ in range(2)]
        while queue._admitted < 2:
            await asyncio.sleep(0.01)
        for path, body in ((INFER, as_json()), ("/predict", {"inputs": "good"})):
            answer = await client.post(path, json=body)
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert list(answer.json()) == ["error"]
        assert (await client.get("/v2/health/live")).status_code == 200
        queue.turn.release()
        assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [200, 200]
        assert (await client.post(INFER, json=as_json())).status_code == 200


async def test_other_requests_come_between_the_texts_of_a_long_one(app: Starlette) -> None:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        long = asyncio.ensure_future(client.post("/predict", json={"inputs": ["good"] * 2_000}, timeout=60))
        await asyncio.sleep(0.05)
        assert (await client.post(INFER, json=as_json())).status_code == 200
        assert not long.done()
        assert len((await long).json()) == 2_000


def test_no_origin_may_call_by_default(default: TestClient) -> None:
    answer = default.post("/predict", json={"inputs": "good"}, headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in answer.headers


def preflight(client: TestClient, origin: str, **changes: str) -> dict[str, str]:
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST", **changes}
    return dict(client.options(INFER, headers=headers).headers)


def test_an_origin_on_the_list_may_call(small: TestClient) -> None:
    told = preflight(small, ORIGIN, **{"Access-Control-Request-Headers": f"content-type, {HEADER_LENGTH.lower()}"})
    assert told["access-control-allow-origin"] == ORIGIN
    assert HEADER_LENGTH.lower() in told["access-control-allow-headers"].lower()
    for answer, status in (
        (small.post("/predict", json={"inputs": "good"}, headers={"Origin": ORIGIN}), 200),
        (small.post("/predict", json={"inputs": None}, headers={"Origin": ORIGIN}), 422),
        (small.get("/nothing", headers={"Origin": ORIGIN}), 404),
    ):
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert answer.headers["access-control-expose-headers"] == f"{HEADER_LENGTH}, Edgeinfer-Dtype, Retry-After"


def test_another_origin_may_not(small: TestClient) -> None:
    other = "https://app.example.evil.test"
    assert "access-control-allow-origin" not in preflight(small, other)
    answer = small.post("/predict", json={"inputs": "good"}, headers={"Origin": other})
    assert "access-control-allow-origin" not in answer.headers
