"""Bad input gets its own clear error, or the obvious right answer, and leaves the pipeline usable."""

from __future__ import annotations

import re
from typing import Any

import pytest

from edgeinfer_browser import EdgeInferError, InputError, UnknownNameError
from tests.browser.client import Client

TIERS = ("wasm", "api")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("null", "null"),
        ("undefined", "undefined"),
        ("42", "number"),
        ("new Uint8Array(3)", "Uint8Array"),
        ("['good', null]", "Item 1 of the list is null"),
        ("[['good']]", "Item 0 of the list is Array"),
    ],
)
def test_what_is_no_text_is_refused_by_name(client: Client, tier: str, expression: str, says: str) -> None:
    assert client.load("tiny", tier=tier)["tier"] == tier
    with pytest.raises(InputError, match=re.escape(says)):
        client.evaluate(f"() => pipeline({expression})")
    assert client.call("good film")[0][0]["label"] == "positive"


@pytest.mark.parametrize("tier", TIERS)
def test_odd_texts_get_the_obvious_answer(client: Client, tier: str) -> None:
    assert client.load("tiny", tier=tier)["tier"] == tier
    assert client.call([])[0] == []
    neutral = pytest.approx(0.5)
    assert [client.call(text)[0][0]["score"] for text in ("", " \n\t")] == [neutral, neutral]
    lone = client.evaluate("() => pipeline('good \\ud83d film')")
    assert lone == client.call("good \ufffd film")[0]
    long = client.call("good " * 200_000)[0]
    assert long[0]["label"] == "positive"
    assert client.call("good film")[1]["last"]["tier"] == tier


@pytest.mark.parametrize("tier", TIERS)
def test_ten_thousand_texts_are_answered_in_order(client: Client, tier: str) -> None:
    assert client.load("tiny", tier=tier)["tier"] == tier
    labels, _ = client.call(["good film", "awful film"] * 5_000)
    assert len(labels) == 10_000
    assert {each[0]["label"] for each in labels[::2]} == {"positive"}
    assert {each[0]["label"] for each in labels[1::2]} == {"negative"}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("top_k", [0, -1, 1.5, "two"])
def test_a_top_k_that_makes_no_sense_is_refused(client: Client, tier: str, top_k: Any) -> None:
    assert client.load("tiny", tier=tier)["tier"] == tier
    with pytest.raises(InputError, match="top_k"):
        client.call("good", topK=top_k)


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({"task": "text-clasification"}, "text-classification"),
        ({"policy": "prefer-locl"}, "prefer-local"),
        ({"tier": "gpu"}, "webgpu"),
        ({"dtype": "int8"}, "q8"),
        ({"whileLoading": "remote"}, "wait"),
        ({"task": "nope", "tier": "api"}, "text-classification"),
        ({"policy": "nope", "tier": "api"}, "only-remote"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(client: Client, options: dict[str, str], known: str) -> None:
    with pytest.raises(UnknownNameError, match="Known: ") as caught:
        client.load("tiny", **options)
    assert known in str(caught.value)
    assert client.load("tiny")["tier"] == "wasm"


@pytest.mark.parametrize(("policy", "tier"), [("only-local", "api"), ("only-remote", "wasm")])
def test_a_tier_that_the_policy_rules_out_is_refused_and_nothing_is_sent(
    client: Client, policy: str, tier: str
) -> None:
    with pytest.raises(InputError, match="rules out the tier"):
        client.load("tiny", policy=policy, tier=tier)
    assert client.fetched("/api/") == []
    assert client.load("tiny")["tier"] == "wasm"


def test_a_dtype_the_model_lacks_is_refused_with_those_it_has(client: Client) -> None:
    with pytest.raises(EdgeInferError, match=r"it has fp32, q8") as caught:
        client.load("tiny", dtype="q4", api=None)
    assert type(caught.value).__name__ == "NoBackendError"


def test_a_call_after_dispose_is_refused_and_a_new_pipeline_works(client: Client) -> None:
    assert client.load("tiny")["tier"] == "wasm"
    client.evaluate("() => pipeline.dispose()")
    with pytest.raises(InputError, match="disposed"):
        client.call("good")
    assert client.load("tiny")["tier"] == "wasm"
