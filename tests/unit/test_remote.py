"""The API tier: few retries, only where they help, never past the deadline, and nonsense is called by its name."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Any

import pytest

from edgeinfer_browser.backends.remote import CONCURRENCY, TRIES, Remote
from edgeinfer_browser.bridge import Response
from edgeinfer_browser.errors import DeadlineError, EdgeInferError, RateLimitedError, RemoteError, RunError
from edgeinfer_browser.wire import infer_request, parse_message
from tests.unit.fakes import API, FakeBridge, Feeds, feeds, infer_answer, logits, model, no_answer

TEXT = feeds(2, 4, 4, 3)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only sleeping moves; the seconds of each sleep."""
    slept: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + sum(slept))
    return slept


def status(number: int, body: bytes = b"", **headers: str) -> Response:
    return Response(number, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def remote(bridge: FakeBridge, **changes: Any) -> Remote:
    return Remote(bridge, API, "tiny", model("q8", **{"revision": "r1", **changes}))


async def outcome(*responses: Response | EdgeInferError) -> tuple[list[list[Any]] | EdgeInferError, int]:
    bridge = FakeBridge(responses=list(responses))
    try:
        return (await remote(bridge).run(TEXT))["logits"].rows(), len(bridge.requests)
    except EdgeInferError as error:
        return error, len(bridge.requests)


async def test_the_dtype_is_what_the_server_says_it_ran() -> None:
    answer = infer_answer(*infer_request(TEXT))
    told = Response(answer.status, {**answer.headers, "edgeinfer-dtype": "q8"}, answer.body)
    backend = remote(FakeBridge(responses=[told]))
    seen = [backend.dtype]
    await backend.run(TEXT)
    seen.append(backend.dtype)
    await backend.close()
    assert [*seen, backend.dtype] == [None, "q8", None]


async def test_the_feeds_go_to_the_models_url_as_they_are_and_the_outputs_come_back() -> None:
    bridge = FakeBridge()
    outputs = await remote(bridge).run(TEXT)
    assert outputs["logits"].rows() == [[0.0, 2.0]]
    request = bridge.requests[0]
    assert (request.method, request.url) == ("POST", f"{API}v2/models/tiny/infer")
    head, sent = parse_message(request.body, request.headers["Inference-Header-Content-Length"], "inputs")
    assert {name: tensor.rows() for name, tensor in sent.items()} == {
        name: tensor.rows() for name, tensor in TEXT.items()
    }
    assert head["parameters"]["revision"] == "r1"


async def test_a_model_without_a_revision_sends_none() -> None:
    bridge = FakeBridge()
    await remote(bridge, revision="").run(TEXT)
    head, _ = parse_message(
        bridge.requests[0].body, bridge.requests[0].headers["Inference-Header-Content-Length"], "inputs"
    )
    assert "revision" not in head["parameters"]


@pytest.mark.parametrize("number", [429, 502, 503, 504])
async def test_a_passing_trouble_is_tried_again(number: int, pauses: list[float]) -> None:
    assert await outcome(status(number)) == ([[0.0, 2.0]], 2)
    assert 0 < pauses[0] < 1


async def test_no_answer_is_tried_again(pauses: list[float]) -> None:
    assert await outcome(no_answer(), no_answer()) == ([[0.0, 2.0]], 3)
    assert pauses == sorted(pauses)


@pytest.mark.parametrize("trouble", [status(503), no_answer()])
async def test_tries_are_bounded(trouble: Response | EdgeInferError) -> None:
    error, requests = await outcome(*[trouble] * 10)
    assert isinstance(error, RemoteError)
    assert requests == TRIES


@pytest.mark.parametrize("number", [400, 401, 403, 404, 409, 413, 422, 500, 501])
async def test_a_lasting_refusal_is_not_tried_again_and_says_what_the_server_said(number: int) -> None:
    error, requests = await outcome(status(number, b'{"error": "another revision is served."}'))
    assert type(error) is RemoteError
    assert requests == 1
    assert error.details == {"url": f"{API}v2/models/tiny/infer", "status": number}
    assert str(number) in str(error)
    assert "another revision is served." in str(error)


async def test_retry_after_in_seconds_is_waited_for(pauses: list[float]) -> None:
    assert await outcome(status(429, retry_after="7")) == ([[0.0, 2.0]], 2)
    assert pauses == [7.0]


async def test_retry_after_as_a_date_is_waited_for(pauses: list[float]) -> None:
    assert await outcome(status(503, retry_after=formatdate(time.time() + 9, usegmt=True))) == ([[0.0, 2.0]], 2)
    assert pauses == [pytest.approx(9, abs=2)]


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5e", "Fri, 99 Foo", formatdate(0, usegmt=True)])
async def test_retry_after_that_makes_no_sense_or_is_past_gets_the_usual_pause(value: str, pauses: list[float]) -> None:
    assert await outcome(status(429, retry_after=value)) == ([[0.0, 2.0]], 2)
    assert pauses == [0.25]


@pytest.mark.parametrize("value", ["61", "99999999999999999999", formatdate(time.time() + 3600, usegmt=True)])
async def test_a_wait_past_the_deadline_is_not_begun(value: str, pauses: list[float]) -> None:
    error, requests = await outcome(status(429, retry_after=value))
    assert isinstance(error, RateLimitedError)
    assert error.details["retry_after"] > 60
    assert (requests, pauses) == (1, [])


async def test_without_an_answer_no_retry_goes_past_the_deadline(pauses: list[float]) -> None:
    bridge = FakeBridge(responses=[no_answer()] * 5)
    with pytest.raises(RemoteError):
        await Remote(bridge, API, "tiny", model("q8"), total_seconds=0.5).run(TEXT)
    assert sum(pauses) <= 0.5


async def test_each_request_gets_only_the_time_that_is_left(pauses: list[float]) -> None:
    bridge = FakeBridge(responses=[status(503, retry_after="55")])
    await remote(bridge).run(TEXT)
    assert [request.timeout for request in bridge.requests] == [30.0, pytest.approx(5.0)]


async def test_rate_limits_after_the_retries_are_an_error_of_their_own() -> None:
    error, _ = await outcome(*[status(429, retry_after="2")] * 3)
    assert type(error) is RateLimitedError
    assert error.details["retry_after"] == 2.0
    assert "2 s" in str(error)


async def test_a_server_that_is_too_slow_is_not_asked_again() -> None:
    error, requests = await outcome(DeadlineError("too slow", step="request", seconds=30))
    assert isinstance(error, DeadlineError)
    assert requests == 1


@pytest.mark.parametrize(
    "answer",
    [
        status(200, b""),
        status(200, b"<!doctype html><title>App</title>"),
        status(200, b"[]"),
        status(200, b'{"outputs": 5}'),
        status(200, b'{"outputs": [{"name": "logits", "shape": [1, 2], "datatype": "FP32", "data": [1]}]}'),
        status(200, b'{"outputs": [{"name": "logits", "shape": [1], "datatype": "FP99", "data": [1]}]}'),
        status(200, b'{"outputs": []}', inference_header_content_length="9999"),
        status(200, b'{"outputs": []}', inference_header_content_length="x"),
    ],
    ids=["empty", "html", "list", "no outputs", "values missing", "datatype", "header too long", "header no number"],
)
async def test_a_nonsense_answer_is_a_remote_error_that_names_the_url(answer: Response) -> None:
    error, requests = await outcome(answer)
    assert type(error) is RemoteError
    assert API in str(error)
    assert requests == 1


async def test_values_that_are_not_finite_are_refused() -> None:
    bridge = FakeBridge()
    await remote(bridge).run(TEXT)
    request = bridge.requests[0]
    bad = infer_answer(request.body, request.headers, lambda _: logits(float("nan"), 1.0))
    error, _ = await outcome(bad)
    assert isinstance(error, RunError)


async def test_a_list_is_sent_a_few_at_a_time_and_comes_back_in_order() -> None:
    under_way = most = 0

    class Counting(FakeBridge):
        async def request(self, *args: Any, **named: Any) -> Response:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return await super().request(*args, **named)

    texts: list[Feeds] = [feeds(*[4] * number, 5) for number in range(30)]
    outputs = await remote(Counting()).run_many(texts)
    assert [output["logits"].rows()[0] for output in outputs] == [[1.0, float(number)] for number in range(30)]
    assert 1 < most <= CONCURRENCY
