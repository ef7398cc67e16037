"""Feature extraction: embeddings from the graph, or pooled here from the tokens of a plain folder."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from edgeinfer_browser import pipeline
from edgeinfer_browser.backends import Chain, FakeBackend
from edgeinfer_browser.errors import InputError, ManifestError, ModelError, UnknownNameError
from edgeinfer_browser.pipelines import FeatureExtractionPipeline
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.pipelines.embeddings import Pooling
from edgeinfer_browser.policy import Choice
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import load_tokenizer
from tests.unit.fakes import BASE, TOKENIZER, Answer, FakeBridge, Feeds, device, entry, facts, model, packed_folder

CONFIG = json.dumps({"max_position_embeddings": 16}).encode()
PLAIN = {f"{BASE}config.json": CONFIG, f"{BASE}tokenizer.json": TOKENIZER, f"{BASE}onnx/model.onnx": b"x"}
MEAN = json.dumps({"word_embedding_dimension": 3, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
NORMALIZE = json.dumps([{"type": "sentence_transformers.models.Normalize"}])
PACKED = {
    "task": "feature-extraction",
    "labels": [],
    "outputs": [{"name": "sentence_embedding", "dtype": "float32", "dims": ["batch_size", 2]}],
    "golden": [],
}


def embedding(given: Feeds) -> dict[str, Tensor]:
    """Of each text: how often the words *good* (id 4) and *bad* (id 5) are in it."""
    values = [float(row.count(word)) for row in given["input_ids"].rows() for word in (4, 5)]
    return {"sentence_embedding": Tensor.from_values("float32", [len(values) // 2, 2], values)}


def hidden(given: Feeds) -> dict[str, Tensor]:
    """Of each token: its id, its square, and 1. A padded row is padded with 99, which must not be seen."""
    mask = given["attention_mask"].rows()
    rows = given["input_ids"].rows()
    values = [
        float(value)
        for ids, seen in zip(rows, mask, strict=True)
        for word, is_text in zip(ids, seen, strict=True)
        for value in ((word, word * word, 1) if is_text else (99, 99, 99))
    ]
    return {"last_hidden_state": Tensor.from_values("float32", [len(rows), len(rows[0]), 3], values)}


def packed(answer: Answer = embedding, pooling: Pooling | None = None, **manifest: Any) -> FeatureExtractionPipeline:
    """A pipeline on a fake backend."""
    described = model("q8", task="feature-extraction", labels=(), **manifest)
    chain = Chain(Choice((), ()), [FakeBackend("wasm", answer, dtype="q8")], described)
    return FeatureExtractionPipeline(Runner(chain), described, device(), load_tokenizer(TOKENIZER), pooling=pooling)


async def plain(files: dict[str, str] | None = None, answer: Answer = hidden) -> FeatureExtractionPipeline:
    """A pipeline of a plain folder with these files more, in a browser without GPU."""
    more = {f"{BASE}{name}": text.encode() for name, text in (files or {}).items()}
    bridge = FakeBridge({**PLAIN, **more}, facts=facts(gpu={"present": False}), answer=answer)
    return await pipeline("feature-extraction", model=BASE, bridge=bridge, dtype="fp32")


async def test_a_text_gives_a_list_of_floats_and_a_list_a_list_of_those() -> None:
    assert await packed()("good good bad") == [2.0, 1.0]
    assert await packed()(["good", "bad"]) == [[1.0, 0.0], [0.0, 1.0]]
    assert await packed()(["good"]) == [[1.0, 0.0]]
    assert await packed()([]) == []


async def test_what_the_graph_gives_may_be_normalised_but_not_undone() -> None:
    assert await packed()("good good bad", normalize=True) == pytest.approx([2 / math.sqrt(5), 1 / math.sqrt(5)])
    assert await packed()("day", normalize=True) == [0.0, 0.0]
    for options in ({"normalize": False}, {"pooling": "mean"}, {"pooling": "none"}):
        with pytest.raises(InputError, match="pools in its graph"):
            await packed()("good", **options)


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"pooling": "max"}, UnknownNameError, "cls, mean, none"),
        ({"normalize": 1}, InputError, "normalize"),
        ({"normalize": "yes"}, InputError, "normalize"),
    ],
)
async def test_options_are_refused_by_what_they_may_be(
    options: dict[str, Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        await packed(hidden, Pooling("mean", normalize=True))("good", **options)


async def test_a_plain_folder_gets_the_mean_of_its_tokens_at_length_1_and_says_so() -> None:
    pipe = await plain()
    mean = [(2 + 4 + 3) / 3, (4 + 16 + 9) / 3, 1.0]
    length = math.sqrt(sum(x * x for x in mean))
    assert await pipe("good") == pytest.approx([x / length for x in mean])
    assert await pipe("good", normalize=False) == pytest.approx(mean)
    note = pipe.info.to_json()["notes"][-1]
    assert "mean of its tokens, normalised" in note
    assert "no 1_Pooling/config.json" in note
    await pipe.close()


async def test_other_poolings_may_be_asked_for() -> None:
    pipe = await plain()
    assert await pipe("good", pooling="cls", normalize=False) == [2.0, 4.0, 1.0]
    assert await pipe("good", pooling="none", normalize=False) == [[2, 4, 1], [4, 16, 1], [3, 9, 1]]
    assert [len(each) for each in await pipe(["good", "bad day"], pooling="none")] == [3, 4]
    await pipe.close()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"1_Pooling/config.json": MEAN, "modules.json": "[]"}, [3.0, 29 / 3, 1.0]),
        ({"1_Pooling/config.json": '{"pooling_mode_cls_token": true}', "modules.json": "[]"}, [2.0, 4.0, 1.0]),
        (
            {"1_Pooling/config.json": '{"pooling_mode_cls_token": true}', "modules.json": NORMALIZE},
            [x / math.sqrt(21) for x in (2, 4, 1)],
        ),
    ],
    ids=["mean", "cls", "cls, normalised"],
)
async def test_a_folder_says_how_it_is_pooled(files: dict[str, str], expected: list[float]) -> None:
    pipe = await plain(files)
    assert await pipe("good") == pytest.approx(expected)
    assert "as 1_Pooling says" in pipe.info.notes[-1]
    await pipe.close()


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"1_Pooling/config.json": '{"pooling_mode_max_tokens": true}'}, "max_tokens"),
        ({"1_Pooling/config.json": "{}"}, "no pooling"),
        ({"1_Pooling/config.json": "[]"}, "not usable"),
        ({"1_Pooling/config.json": "{"}, "not JSON"),
        ({"modules.json": "[5]"}, "not usable"),
    ],
)
async def test_a_pooling_that_is_not_known_is_refused_before_anything_is_loaded(
    files: dict[str, str], word: str
) -> None:
    with pytest.raises(ManifestError, match=word):
        await plain(files)


async def test_padding_of_a_batch_is_not_part_of_an_embedding() -> None:
    bridge = FakeBridge(PLAIN, answer=hidden)
    pipe = await pipeline("feature-extraction", model=BASE, bridge=bridge, dtype="fp32")
    assert pipe.info.tier == "webgpu"
    texts = ["good", "bad bad day good", "day day"]
    together = await pipe(texts)
    assert [len(feeds["input_ids"].rows()) for _, feeds in bridge.runs] == [3]  # one batch
    assert together == [await pipe(text) for text in texts]
    await pipe.close()


async def test_a_graph_that_pools_is_taken_at_its_word() -> None:
    pipe = await plain(answer=lambda given: {**hidden(given), **embedding(given)})
    assert await pipe("good bad bad") == [1.0, 2.0]
    assert await pipe("good", pooling="cls", normalize=False) == [2.0, 4.0, 1.0]
    await pipe.close()


async def test_a_model_of_another_kind_is_told_by_what_it_gave() -> None:
    pipe = await plain(answer=lambda _: {"logits": Tensor.from_values("float32", [1, 2], [0, 1])})
    with pytest.raises(ModelError, match=r"gives no embeddings.*logits \[1, 2\]"):
        await pipe("good")
    await pipe.close()


async def test_a_packed_encoder_answers_and_asks_for_no_pooling_file() -> None:
    bridge = FakeBridge(packed_folder(["q8"], **_golden(PACKED)), facts=facts(gpu={"present": False}), answer=embedding)
    pipe = await pipeline("feature-extraction", model=BASE, bridge=bridge)
    assert await pipe("bad") == [0.0, 1.0]
    assert pipe.info.notes == ()
    assert not [url for url in bridge.fetched if "Pooling" in url]
    await pipe.close()


async def test_a_classifier_gives_no_embeddings_and_an_encoder_no_labels() -> None:
    bridge = FakeBridge()
    with pytest.raises(ManifestError, match="gives no sentence_embedding"):
        await pipeline("feature-extraction", model=BASE, bridge=bridge)
    encoder = FakeBridge(packed_folder(["q8"], **_golden(PACKED)))
    with pytest.raises(ManifestError, match="has no head"):
        await pipeline("text-classification", model=BASE, bridge=encoder)
    assert not bridge.specs + encoder.specs  # nothing was loaded for it


async def test_an_embedding_has_no_head() -> None:
    with pytest.raises(InputError, match="head='mood'"):
        await pipeline("feature-extraction", model=BASE, head="mood", bridge=FakeBridge(PLAIN))


def _golden(changes: dict[str, Any]) -> dict[str, Any]:
    """The golden sample "good" of an encoder, for every variant alike."""
    tensor = {"dtype": "int64", "dims": [1, 3]}
    inputs = {"input_ids": {**tensor, "data": [2, 4, 3]}, "attention_mask": {**tensor, "data": [1, 1, 1]}}
    variant = {
        "files": [entry("onnx/q8.onnx", b"q8")],
        "largest_tensor": 100,
        "features": [],
        "tolerance": 0.05,
        "golden": [{"sentence_embedding": {"dtype": "float32", "dims": [1, 2], "data": [1.0, 0.0]}}],
    }
    return {**changes, "golden": [{"text": "good", "inputs": inputs}], "variants": {"q8": variant}}
