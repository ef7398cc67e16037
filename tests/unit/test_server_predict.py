"""/predict: the labels of the package's own pipeline, and a clear refusal of everything else."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from edgeinfer_browser import pipeline
from edgeinfer_browser.server import create_app
from edgeinfer_browser.server.limits import Limits
from edgeinfer_browser.server.models import load_models
from edgeinfer_browser.telemetry import Outlet, RingBuffer
from tests.unit import server_models
from tests.unit.test_server_oip import refused


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    server_models.tiny(folder)
    return folder


@pytest.fixture(scope="module")
def client(models: Path) -> Iterator[TestClient]:
    with TestClient(create_app(models)) as client:
        yield client


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("several")
    server_models.tiny(folder)
    server_models.kinds(folder)
    with TestClient(create_app(folder)) as client:
        yield client


def predict(client: TestClient, inputs: object, **fields: Any) -> Any:
    response = client.post("/predict", content=json.dumps({"inputs": inputs, **fields}))
    assert response.status_code == 200, response.text
    return response.json()


async def test_answers_are_the_pipeline_s(client: TestClient, models: Path) -> None:
    pipe = await pipeline("text-classification", model=str(models / "tiny"))
    texts = ["good", "the awful film", "", "good bad " * 100]
    assert predict(client, texts[0]) == await pipe(texts[0])
    assert predict(client, texts) == await pipe(texts)
    assert predict(client, texts, parameters={"top_k": None}) == await pipe(texts, top_k=None)
    await pipe.close()


def test_every_answer_says_which_dtype_gave_it(client: TestClient) -> None:
    assert client.post("/predict", json={"inputs": "good"}).headers["edgeinfer-dtype"] in {"fp32", "q8"}


def test_one_text_gives_its_best_label(client: TestClient) -> None:
    [label] = predict(client, "a great film")
    assert label["label"] == "positive"
    assert 0.9 < label["score"] < 1


def test_top_k(client: TestClient) -> None:
    assert [each["label"] for each in predict(client, "awful", parameters={"top_k": 2})] == ["negative", "positive"]
    assert len(predict(client, "awful", parameters={"top_k": None})) == 2
    assert len(predict(client, "awful", parameters={"top_k": 99})) == 2
    assert len(predict(client, "awful", parameters={})) == 1
    assert len(predict(client, "awful", parameters=None)) == 1


def test_no_text_at_all(client: TestClient) -> None:
    assert predict(client, []) == []
    refused(client.post("/predict", json={"inputs": [], "parameters": {"top_k": 0}}), 422)


def test_an_answer_does_not_depend_on_what_else_was_sent(client: TestClient) -> None:
    [alone] = predict(client, ["good film"])
    assert predict(client, ["bad " * 500, "good film", ""])[1] == alone


def test_ten_thousand_texts(client: TestClient) -> None:
    answers = predict(client, ["good", "bad"] * 5_000)
    assert len(answers) == 10_000
    assert [each[0]["label"] for each in answers[:3]] == ["positive", "negative", "positive"]


def test_lone_surrogates_are_as_u_fffd(client: TestClient) -> None:
    answers = [
        client.post("/predict", content=b'{"inputs": "good ' + text + b'"}').json()
        for text in (rb"\ud83d", rb"\udc00", "\ufffd".encode(), rb"\ufffd")
    ]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0]["label"] == "positive"


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "\u202e good \u202c", "👩‍👩‍👧‍👦 good", "e\u0301" * 1000, "مرحبا", "漢字", "good\n" * 5000]
)
def test_odd_texts_have_an_answer(client: TestClient, text: str) -> None:
    assert predict(client, text)[0]["label"] in {"negative", "positive"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"inputs": None}, "not None"),
        ({"inputs": 3}, "not int (3)"),
        ({"inputs": True}, "not bool"),
        ({"inputs": {"text": "a"}}, "not dict"),
        ({"inputs": ["a", None]}, "Item 1 of the list is None"),
        ({"inputs": ["a", 1.5]}, "Item 1 of the list is float"),
        ({"inputs": [["a"], ["b"]]}, "Item 0 of the list is list"),
        ({}, 'no "inputs"'),
        ([], "not a JSON list"),
        ("a text", "not a JSON str"),
        (None, "not a JSON NoneType"),
        ({"inputs": "a", "parameters": [1]}, '"parameters" must be an object'),
        ({"inputs": "a", "parameters": {"top_k": 0}}, "top_k must be an integer of 1 or more"),
        ({"inputs": "a", "parameters": {"top_k": "2"}}, "top_k"),
        ({"inputs": "a", "parameters": {"top_k": True}}, "top_k"),
        ({"inputs": "a", "parameters": {"function_to_apply": "none"}}, "Unknown parameter 'function_to_apply'"),
        ({"inputs": "a", "raw_scores": True}, "Unknown field 'raw_scores'"),
        ({"inputs": "a", "model": 3}, '"model" must be a string'),
        ({"inputs": None, "x\ud83d": 1}, "\\ud83d"),
    ],
)
def test_bad_input_is_422_with_the_reason(client: TestClient, asked: object, said: str) -> None:
    assert said in refused(client.post("/predict", content=json.dumps(asked)), 422)


@pytest.mark.parametrize("body", [b"", b"good", b'{"inputs": "a"', b"\xff", b'{"inputs": 1' + b"0" * 5000 + b"}"])
def test_a_body_that_is_not_json_is_400(client: TestClient, body: bytes) -> None:
    assert "not JSON" in refused(client.post("/predict", content=body), 400)


def test_the_method_is_post(client: TestClient) -> None:
    assert refused(client.get("/predict"), 405) == "/predict takes POST only."


def test_a_model_may_be_named(client: TestClient) -> None:
    assert predict(client, "good", model="tiny")[0]["label"] == "positive"
    assert "'tin'" in refused(client.post("/predict", json={"inputs": "a", "model": "tin"}), 404)


def test_a_model_must_be_named_when_several_are_served(several: TestClient) -> None:
    assert predict(several, "good", model="tiny")[0]["label"] == "positive"
    said = refused(several.post("/predict", json={"inputs": "good"}), 422)
    assert "kinds, tiny" in said


def test_a_model_for_another_task(several: TestClient) -> None:
    said = refused(several.post("/predict", json={"inputs": "good", "model": "kinds"}), 422)
    assert "'tensors-to-tensors'" in said


def test_the_revision_must_be_the_served_one(client: TestClient, models: Path) -> None:
    revision = server_models.revision(models / "tiny")
    assert predict(client, "good", revision=revision)[0]["label"] == "positive"
    said = refused(client.post("/predict", json={"inputs": "good", "revision": "older"}), 409)
    assert "older" in said
    assert revision in said


def test_no_text_is_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for asked in ({"inputs": "a secret"}, {"inputs": [["a secret"]]}, {"inputs": "a secret", "model": "x"}):
        client.post("/predict", json=asked)
    # The test's own client logs URLs; no record has what was sent.
    assert "secret" not in caplog.text


async def test_a_metric_of_a_served_pipeline_says_what_waiting_for_its_turn_took(models: Path) -> None:
    served = (await load_models(models, Limits()))["tiny"]
    pipe, kept = served.pipelines["text-classification"], RingBuffer()
    pipe.metrics = Outlet(kept)
    async with served.queue.turn:
        waiting = asyncio.ensure_future(pipe(["good", "bad film"]))
        await asyncio.sleep(0.02)
    await waiting
    (metric,) = kept
    assert (metric.tier, metric.items, metric.error) == ("native", 2, None)
    assert metric.latency_ms.queue >= 15
    assert metric.latency_ms.run > 0
