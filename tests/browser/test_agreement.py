"""Browser and server agree: the same int8 file on WASM and on native ONNX Runtime, over 500 evaluation texts."""

from __future__ import annotations

import asyncio
import statistics
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sentiment_data import LabelledText, load_split

from edgeinfer_browser import pipeline
from tests.browser.client import Client
from tests.browser.conftest import SENTIMENT

TEXTS = 500


@pytest.fixture(scope="module")
def sample() -> list[LabelledText]:
    return load_split("evaluation")[:TEXTS]


@pytest.fixture(scope="module")
def native(sample: list[LabelledText]) -> list[dict[str, Any]]:
    """The best label of each text, from the same Python pipeline on CPython."""

    async def classify() -> list[dict[str, Any]]:
        sentiment = await pipeline("text-classification", model=str(SENTIMENT), dtype="q8")
        assert (sentiment.info.tier, sentiment.info.dtype) == ("native", "q8")
        labels = await sentiment([text.text for text in sample])
        await sentiment.close()
        return [each[0] for each in labels]

    # In a thread: Playwright's sync API has an event loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, classify()).result()


def test_wasm_and_native_int8_give_the_same_labels_and_scores(
    client: Client, sample: list[LabelledText], native: list[dict[str, Any]]
) -> None:
    client.load(tier="wasm")
    labels, info = client.call([text.text for text in sample])
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("wasm", "q8")
    browser = [each[0] for each in labels]
    same = sum(a["label"] == b["label"] for a, b in zip(browser, native, strict=True))
    difference = statistics.mean(abs(_positive(a) - _positive(b)) for a, b in zip(browser, native, strict=True))
    print(f"same label: {same} of {TEXTS}; mean difference of the score: {difference:.5f}")
    assert same >= 0.99 * TEXTS
    assert difference < 0.01


def test_held_out_accuracy_is_well_above_the_majority(sample: list[LabelledText], native: list[dict[str, Any]]) -> None:
    right = sum((a["label"] == "positive") == bool(t.label) for a, t in zip(native, sample, strict=True))
    positive = sum(text.label for text in sample)
    print(f"accuracy: {right / TEXTS:.3f}; majority: {max(positive, TEXTS - positive) / TEXTS:.3f}")
    assert right >= 0.79 * TEXTS


def _positive(label: dict[str, Any]) -> float:
    """The score of "positive", whichever label was the best."""
    return float(label["score"] if label["label"] == "positive" else 1 - label["score"])
