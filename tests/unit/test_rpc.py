"""What the page asks of Python: JSON in, JSON out, and never an exception."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from edgeinfer_browser import bridge, rpc
from edgeinfer_browser.pipelines import pipeline
from tests.unit.fakes import API, BASE, FakeBridge


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeBridge:
    """The browser that the page's pipelines run in."""
    made = FakeBridge()
    monkeypatch.setattr("edgeinfer_browser.pipelines.default_bridge", lambda: made)
    monkeypatch.setattr(rpc, "_pipelines", {})
    return made


async def ask(method: str, params: object, events: list[Any] | None = None) -> Any:
    heard = [] if events is None else events
    return json.loads(await rpc.handle(method, json.dumps(params), lambda text: heard.append(json.loads(text))))


async def load(number: int, **options: Any) -> Any:
    wanted = {"task": "text-classification", "model": BASE, **options}
    return await ask("load", {"pipeline": number, "options": wanted})


async def call(number: int, inputs: object, **options: Any) -> Any:
    return await ask("call", {"pipeline": number, "inputs": inputs, "options": options})


async def test_a_pipeline_is_loaded_called_and_disposed_of(host: FakeBridge) -> None:
    info = (await load(7))["result"]["info"]
    assert (info["tier"], info["capabilities"]["webgpu"]) == ("webgpu", True)
    answer = (await call(7, "good"))["result"]
    assert answer["result"][0]["label"] == "positive"
    assert answer["info"]["last"]["texts"] == 1
    assert "capabilities" not in answer["info"]
    assert await ask("dispose", {"pipeline": 7}) == {"result": {}}
    assert host.sessions == {}
    assert await ask("dispose", {"pipeline": 7}) == {"result": {}}


async def test_options_cross_by_their_name_and_others_are_left_out(host: FakeBridge) -> None:
    info = (await load(1, tier="wasm", dtype="fp32", api=API, onProgress=None, surprise=1))["result"]["info"]
    assert (info["tier"], info["dtype"]) == ("wasm", "fp32")


@pytest.mark.parametrize(("options", "labels"), [({}, 1), ({"topK": 2}, 2), ({"topK": None}, 2)])
async def test_top_k_crosses_and_null_means_all(host: FakeBridge, options: dict[str, Any], labels: int) -> None:
    await load(1)
    assert len((await call(1, ["good"], **options))["result"]["result"][0]) == labels


async def test_progress_names_its_pipeline(host: FakeBridge) -> None:
    events: list[Any] = []
    await ask("load", {"pipeline": 5, "options": {"task": "text-classification", "model": BASE}}, events)
    assert {event["pipeline"] for event in events} == {5}
    assert events[-1]["progress"]["stage"] == "ready"


async def test_a_text_with_lone_surrogates_crosses(host: FakeBridge) -> None:
    await load(1)
    answer = await rpc.handle("call", '{"pipeline": 1, "inputs": "good \\ud83d", "options": {}}', print)
    assert json.loads(answer)["result"]["result"][0]["label"] == "positive"


@pytest.mark.parametrize(
    ("options", "name", "word"),
    [
        ({"task": "translation"}, "UnknownNameError", "text-classification"),
        ({"policy": "x"}, "UnknownNameError", "prefer-local"),
        ({"model": "https://host.test/none/"}, "NotFoundError", "https://host.test/none/"),
    ],
)
async def test_an_error_crosses_with_its_name_message_and_details(
    host: FakeBridge, options: dict[str, Any], name: str, word: str
) -> None:
    error = (await load(1, **options))["error"]
    assert error["name"] == name
    assert word in error["message"]
    assert error["details"]


async def test_a_bad_input_crosses_as_an_input_error(host: FakeBridge) -> None:
    await load(1)
    assert (await call(1, None))["error"]["name"] == "InputError"
    assert (await call(1, "good", topK=0))["error"]["name"] == "InputError"
    assert "result" in await call(1, "good")


async def test_a_pipeline_that_was_disposed_of_is_told_by_its_number(host: FakeBridge) -> None:
    error = (await call(42, "good"))["error"]
    assert (error["name"], error["details"]) == ("InputError", {"pipeline": 42})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("fly", "{}"),
        ("load", "not json"),
        ("load", "{}"),
        ("load", "[]"),
        ("load", '{"pipeline": 1, "options": {}}'),
        ("load", '{"pipeline": 1, "options": {"task": "text-classification", "model": 5}}'),
        ("call", "{}"),
        ("call", '{"pipeline": []}'),
        ("dispose", "null"),
        ("bench", '{"pipeline": 1}'),
    ],
)
async def test_nothing_the_page_can_send_raises(host: FakeBridge, method: str, params: str) -> None:
    error = json.loads(await rpc.handle(method, params, print))["error"]
    assert error["name"]
    assert error["message"]


async def load_measured(number: int, **options: Any) -> Any:
    wanted = {"task": "text-classification", "model": BASE, **options}
    return await ask("load", {"pipeline": number, "options": wanted, "metrics": True})


async def test_a_calls_metric_crosses_beside_its_result_when_the_page_wants_it(host: FakeBridge) -> None:
    assert "metric" not in await load_measured(1, tier="wasm")
    answer = await call(1, "good day")
    assert answer["result"]["info"]["last"]["tier"] == "wasm"
    assert (answer["metric"]["tier"], answer["metric"]["tokens_in"], answer["metric"]["error"]) == ("wasm", 4, None)
    await load(2)
    assert "metric" not in await call(2, "good")


async def test_a_metric_crosses_beside_an_error_too_unless_it_is_no_call(host: FakeBridge) -> None:
    await load_measured(1)
    refused = await call(1, "good", topK=0)
    assert (refused["error"]["name"], refused["metric"]["error"]) == ("InputError", "InputError")
    assert "metric" not in await call(42, "good")


async def test_calls_side_by_side_have_their_own_metric(host: FakeBridge) -> None:
    await load_measured(1)
    texts = ["good " * count for count in range(1, 8)]
    answers = await asyncio.gather(*(call(1, text) for text in texts))
    assert [answer["metric"]["tokens_in"] for answer in answers] == [3, 4, 5, 6, 7, 8, 9]


async def test_bench_gives_pairs_of_equal_length(host: FakeBridge) -> None:
    await load(1, tier="wasm")
    result = (await ask("bench", {"pipeline": 1, "text": "good day", "pairs": 3}))["result"]
    assert [len(result[name]) for name in ("call", "run", "session")] == [3, 3, 3]
    assert (result["tokens"], result["tier"]) == (4, "wasm")


async def test_bench_refuses_the_api(host: FakeBridge) -> None:
    await load(1, policy="only-remote", api=API)
    error = (await ask("bench", {"pipeline": 1, "text": "good", "pairs": 3}))["error"]
    assert (error["name"], "'api'" in error["message"]) == ("InputError", True)


async def test_a_pipeline_finds_the_bridge_of_its_host(host: FakeBridge) -> None:
    pipe = await pipeline("text-classification", model="/models/tiny")
    assert pipe.info.tier == "webgpu"
    assert bridge.IN_BROWSER is False
