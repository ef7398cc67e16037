"""Text classification: what may be given, and what comes back."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinfer_browser.backends import Chain, FakeBackend
from edgeinfer_browser.errors import InputError, ManifestError, ModelError
from edgeinfer_browser.pipelines import TextClassificationPipeline
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.pipelines.labels import sigmoid, softmax
from edgeinfer_browser.policy import Choice
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import load_tokenizer
from tests.unit.fakes import TOKENIZER, Answer, count_good, device, logits, model


def classifier(answer: Answer = count_good, **manifest: Any) -> TextClassificationPipeline:
    """A pipeline on a fake backend: "good" makes a text positive, "bad" negative."""
    described = model("q8", **manifest)
    tokenizer = load_tokenizer(TOKENIZER)
    tokenizer.enable_truncation(described.max_length)
    chain = Chain(Choice((), ()), [FakeBackend("wasm", answer, dtype="q8")], described)
    return TextClassificationPipeline(Runner(chain), described, device(), tokenizer)


def fixed(*values: float, **manifest: Any) -> TextClassificationPipeline:
    """A pipeline whose model always answers the same."""
    labels = tuple(f"label {number}" for number in range(len(values)))
    return classifier(lambda _: logits(*values), **{"labels": labels, **manifest})


def names(labels: list[dict[str, Any]]) -> list[str]:
    return [each["label"] for each in labels]


def calls(pipe: TextClassificationPipeline) -> list[Any]:
    assert isinstance(pipe.backend, FakeBackend)
    return pipe.backend.calls


async def test_a_text_gives_its_best_label_with_its_score() -> None:
    (label,) = await classifier()("Good, good day")
    assert label == {"label": "positive", "score": pytest.approx(1 / (1 + math.exp(-2)))}


async def test_a_list_gives_a_list_of_labels_each_in_order() -> None:
    texts = ["good", "bad", "bad bad good", "good good bad"]
    results = await classifier()(texts)
    assert [names(each) for each in results] == [["positive"], ["negative"], ["negative"], ["positive"]]


async def test_a_list_of_one_gives_a_list_of_one() -> None:
    assert len(await classifier()(["good"])) == 1
    assert isinstance((await classifier()(("good",)))[0], list)


async def test_an_empty_list_gives_an_empty_list_and_runs_nothing() -> None:
    pipe = classifier()
    assert await pipe([]) == []
    assert pipe.backend is None


@pytest.mark.parametrize("text", ["", " ", "\n", "\0", "​", "🙂" * 3, "é" * 100])
async def test_any_text_is_a_text(text: str) -> None:
    assert len(await classifier()(text)) == 1


@pytest.mark.parametrize(("top_k", "count"), [(1, 1), (2, 2), (3, 3), (99, 3), (None, 3)])
async def test_top_k_labels_come_best_first(top_k: int | None, count: int) -> None:
    labels = await fixed(1.0, 3.0, 2.0)("x", top_k=top_k)
    assert names(labels) == ["label 1", "label 2", "label 0"][:count]
    assert [each["score"] for each in labels] == sorted((each["score"] for each in labels), reverse=True)


@pytest.mark.parametrize("top_k", [0, -1, 1.5, "2", True, [1]])
async def test_a_top_k_that_is_none_is_refused_by_its_value(top_k: Any) -> None:
    with pytest.raises(InputError, match="top_k"):
        await classifier()("good", top_k=top_k)


async def test_labels_of_equal_score_keep_the_models_order() -> None:
    assert names(await fixed(0.5, 0.5, 0.5)("x", top_k=None)) == ["label 0", "label 1", "label 2"]


async def test_one_label_of_many_has_scores_that_sum_to_one() -> None:
    labels = await fixed(1.0, 2.0, 3.0)("x", top_k=None)
    assert sum(each["score"] for each in labels) == pytest.approx(1)


async def test_several_labels_at_once_have_a_score_each() -> None:
    labels = await fixed(-1.0, 5.0, 5.0, problem_type="multi_label_classification")("x", top_k=None)
    assert [each["score"] for each in labels] == pytest.approx([sigmoid(5), sigmoid(5), sigmoid(-1)])


async def test_a_model_without_labels_numbers_them() -> None:
    assert names(await fixed(1.0, 2.0, labels=())("x", top_k=None)) == ["LABEL_1", "LABEL_0"]


def test_another_problem_type_is_refused_by_its_name() -> None:
    with pytest.raises(ManifestError, match="regression"):
        classifier(problem_type="regression")


@pytest.mark.parametrize(
    "outputs",
    [
        {},
        {"last_hidden_state": Tensor.from_values("float32", [1, 2], [0, 1])},
        logits(1.0, 2.0, 3.0),
        logits(1.0),
        {"logits": Tensor.from_values("float32", [1, 0], [])},
        {"logits": Tensor.from_values("float32", [2, 2], [0, 1, 2, 3])},
    ],
    ids=["none", "another", "too many", "too few", "empty", "two rows"],
)
async def test_a_model_of_another_task_is_told_by_what_it_gave(outputs: dict[str, Tensor]) -> None:
    with pytest.raises(ModelError, match="no classifier of 2 labels"):
        await classifier(lambda _: outputs)("x")


async def test_a_model_that_wants_more_than_a_text_is_refused_by_the_inputs_name() -> None:
    with pytest.raises(ManifestError, match="pixel_values"):
        await classifier(inputs=("input_ids", "pixel_values"))("x")


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        (None, "None"),
        (5, r"int \(5\)"),
        (1.5, "float"),
        (b"good", "bytes"),
        ({"text": "good"}, "dict"),
        ({"good"}, "set"),
        (["good", None], "Item 1 of the list is None"),
        (["good", b"bad"], "Item 1 of the list is bytes"),
        ([["good"]], "Item 0 of the list is list"),
        (["good", 7, "bad"], "Item 1 of the list is int"),
    ],
)
async def test_what_is_no_text_is_refused_by_what_and_where_it_is(inputs: Any, word: str) -> None:
    pipe = classifier()
    with pytest.raises(InputError, match=word):
        await pipe(inputs)
    assert pipe.backend is None  # nothing was loaded or run for it


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("good \ud83d", "good \ufffd"),
        ("\udc00 good", "\ufffd good"),
        ("\ud83d\ude42 good", "\U0001f642 good"),
        ("\ude42\ud83d", "\ufffd\ufffd"),
    ],
)
async def test_lone_surrogates_become_the_replacement_character(text: str, same_as: str) -> None:
    pipe = classifier()
    await pipe([text, same_as])
    first, second = ({name: tensor.rows() for name, tensor in call.items()} for call in calls(pipe))
    assert first == second


async def test_a_text_longer_than_the_model_takes_is_cut_and_keeps_its_special_tokens() -> None:
    pipe = classifier(max_length=8)
    await pipe("good " * 100)
    (ids,) = calls(pipe)[0]["input_ids"].rows()
    assert ids == [2, *[4] * 6, 3]


async def test_a_text_of_a_megabyte_is_classified() -> None:
    assert names(await classifier()("good day " * 120_000)) == ["positive"]


async def test_a_text_too_long_to_tokenize_is_refused_by_its_length() -> None:
    text = "x" * 10_000_001
    with pytest.raises(InputError, match="Item 1 has 10000001 characters"):
        await classifier()(["short", text])


async def test_ten_thousand_texts_keep_their_order() -> None:
    results = await classifier()([("good", "bad")[number % 2] for number in range(10_000)])
    assert [each[0]["label"] for each in results] == ["positive", "negative"] * 5_000


async def test_only_the_inputs_that_the_model_names_are_fed() -> None:
    assert set(classifier(inputs=("input_ids",)).feeds("good")) == {"input_ids"}
    everything = classifier(inputs=()).feeds("good day")
    assert {name: tensor.rows() for name, tensor in everything.items()} == {
        "input_ids": [[2, 4, 6, 3]],
        "attention_mask": [[1, 1, 1, 1]],
        "token_type_ids": [[0, 0, 0, 0]],
    }


async def test_the_last_call_is_known_with_its_tier_and_number_of_texts() -> None:
    pipe = classifier()
    assert pipe.info.to_json()["last"] is None
    await pipe(["good", "bad", "day"])
    last = pipe.info.last
    assert last is not None
    assert (last.tier, last.dtype, last.texts) == ("wasm", "q8", 3)
    assert last.latency_ms >= 0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=50))
def test_softmax_is_a_distribution_in_the_order_of_the_logits(values: list[float]) -> None:
    scores = softmax(values)
    assert math.fsum(scores) == pytest.approx(1)
    assert all(0 <= score <= 1 for score in scores)
    pairs = sorted(zip(values, scores, strict=True))
    assert [score for _, score in pairs] == sorted(scores)


@given(st.floats(-1e300, 1e300))
def test_sigmoid_never_overflows_and_is_symmetric(value: float) -> None:
    assert 0 <= sigmoid(value) <= 1
    assert sigmoid(value) + sigmoid(-value) == pytest.approx(1, abs=sys.float_info.epsilon)
