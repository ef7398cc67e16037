"""Heads and embeddings in a real browser: every tier gives what the same pipeline gives on CPython, from one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from edgeinfer_browser import pipeline
from edgeinfer_browser.errors import InputError, ManifestError, UnknownNameError
from tests.browser.client import Client
from tests.browser.encoders import TEXTS, in_thread, served_encoders

TIERS = ("webgpu", "wasm", "api")
_ALL_HEADS = "async ({ texts, options }) => await pipeline.allHeads(texts, options)"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with served_encoders(tmp_path_factory.mktemp("encoders")) as made:
        yield made


@pytest.fixture
def client(served: tuple[str, Path], chromium: Browser) -> Iterator[Client]:
    context = chromium.new_context(base_url=served[0])
    page = context.new_page()
    page.goto("index.html")
    yield Client(page)
    context.close()


@pytest.fixture(scope="module")
def native(served: tuple[str, Path]) -> dict[str, Any]:
    """What CPython says of the texts."""

    async def ask() -> dict[str, Any]:
        shared, plain = str(served[1] / "shared"), str(served[1] / "plain")
        topic = await pipeline("text-classification", model=shared, head="topic")
        pooled = await pipeline("feature-extraction", model=plain, dtype="fp32")
        found = {
            "topic": await topic(TEXTS, top_k=None),
            "every": await topic.all_heads(TEXTS),
            "plain": await pooled(TEXTS),
        }
        await topic.close()
        await pooled.close()
        return found

    found: dict[str, Any] = in_thread(ask())
    return found


def scores(labels: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["label"]: pytest.approx(each["score"], abs=1e-4) for each in labels}


@pytest.mark.parametrize("tier", TIERS)
def test_a_head_answers_by_its_name(client: Client, native: dict[str, Any], tier: str) -> None:
    client.load("shared", tier=tier, head="topic")
    labels, info = client.call(TEXTS, topK=None)
    assert info["last"]["tier"] == tier
    assert [{each["label"]: each["score"] for each in text} for text in labels] == [scores(t) for t in native["topic"]]
    first, _ = client.call(TEXTS[1], head="mood")
    assert first[0]["label"] == native["every"][1]["heads"]["mood"][0]["label"]


@pytest.mark.parametrize("tier", TIERS)
def test_all_heads_and_the_embedding_come_together(client: Client, native: dict[str, Any], tier: str) -> None:
    client.load("shared", tier=tier, task="feature-extraction")
    found = client.evaluate(_ALL_HEADS, {"texts": TEXTS, "options": {}})
    for mine, theirs in zip(found, native["every"], strict=True):
        assert mine["embedding"] == pytest.approx(theirs["embedding"], abs=1e-4)
        for name, labels in theirs["heads"].items():
            assert {each["label"]: each["score"] for each in mine["heads"][name]} == scores(labels)
    best = client.evaluate(_ALL_HEADS, {"texts": TEXTS[0], "options": {"topK": 1}})
    assert [len(labels) for labels in best["heads"].values()] == [1, 1]


@pytest.mark.parametrize("tier", TIERS)
def test_embeddings_do_not_depend_on_the_batch(client: Client, native: dict[str, Any], tier: str) -> None:
    client.load("shared", tier=tier, task="feature-extraction")
    together, info = client.call(TEXTS)
    assert info["last"]["tier"] == tier
    for text, vector, theirs in zip(TEXTS, together, native["every"], strict=True):
        assert vector == pytest.approx(theirs["embedding"], abs=1e-4)
        assert client.call(text)[0] == pytest.approx(vector, abs=1e-5)


@pytest.mark.parametrize("tier", ["webgpu", "wasm"])
def test_a_plain_folder_is_pooled_in_python(client: Client, native: dict[str, Any], tier: str) -> None:
    info = client.load("plain", tier=tier, task="feature-extraction", dtype="fp32", api=None)
    assert "mean of its tokens" in info["notes"][-1]
    together, info = client.call(TEXTS)
    assert info["last"]["tier"] == tier
    for vector, theirs in zip(together, native["plain"], strict=True):
        assert vector == pytest.approx(theirs, abs=1e-4)
    first, _ = client.call("good", pooling="cls", normalize=False)
    assert first == pytest.approx(client.call("good", pooling="none", normalize=False)[0][0])


@pytest.mark.parametrize("tier", ["wasm", "api"])
def test_what_a_pipeline_does_not_take_is_refused_on_either_path(client: Client, tier: str) -> None:
    client.load("shared", tier=tier)
    with pytest.raises((UnknownNameError, InputError), match="Known: mood, topic"):
        client.call("good", head="tone")
    with pytest.raises((UnknownNameError, InputError), match="Unknown"):
        client.call("good", normalize=True)
    with pytest.raises(UnknownNameError, match="topk"):
        client.call("good", topk=1)
    assert client.call("good")[0]


def test_a_head_that_is_not_there_is_refused_before_the_model_is_fetched(client: Client) -> None:
    with pytest.raises(UnknownNameError, match="Known: mood, topic"):
        client.load("shared", tier="wasm", head="tone")
    assert not client.fetched(".onnx")


def test_a_model_of_another_task_is_refused_before_it_is_fetched(client: Client) -> None:
    with pytest.raises(ManifestError, match="gives no sentence_embedding"):
        client.load("mood-alone", tier="wasm", task="feature-extraction")
    assert not client.fetched(".onnx")
