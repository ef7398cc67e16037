"""A model with several heads: one by its name, or all of them from one run, in Python, over rpc and from the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper
from starlette.testclient import TestClient

from edgeinfer_browser import pipeline, rpc
from edgeinfer_browser.backends import Chain, FakeBackend
from edgeinfer_browser.errors import InputError, ManifestError, UnknownNameError
from edgeinfer_browser.manifest import HeadSpec, revision_of
from edgeinfer_browser.pipelines import FeatureExtractionPipeline, TextClassificationPipeline
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL, sigmoid
from edgeinfer_browser.policy import Choice
from edgeinfer_browser.server import create_app
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import load_tokenizer
from tests.unit.fakes import TOKENIZER, Feeds, device, entry, model

MOOD = HeadSpec("mood", "mood_logits", ("negative", "positive"), SINGLE_LABEL)
TOPIC = HeadSpec("topic", "topic_logits", ("day", "night", "noon"), MULTI_LABEL)


def answer(given: Feeds) -> dict[str, Tensor]:
    """Mood by the words *bad* (5) and *good* (4), topic by *day* (6)."""
    (ids,) = given["input_ids"].rows()
    bad, good, day = (float(ids.count(word)) for word in (5, 4, 6))
    return {
        "sentence_embedding": Tensor.from_values("float32", [1, 2], [bad, good]),
        "mood_logits": Tensor.from_values("float32", [1, 2], [bad, good]),
        "topic_logits": Tensor.from_values("float32", [1, 3], [day, -1, -2]),
    }


def pieces(*heads: HeadSpec, **fields: Any) -> Any:
    """What a pipeline is made of: a fake backend, a manifest with heads, a device and a tokenizer."""
    described = model("q8", heads=heads, **{"task": "feature-extraction", "labels": (), **fields})
    chain = Chain(Choice((), ()), [FakeBackend("wasm", answer, dtype="q8")], described)
    return Runner(chain), described, device(), load_tokenizer(TOKENIZER)


def calls(pipe: TextClassificationPipeline | FeatureExtractionPipeline) -> int:
    assert isinstance(pipe.backend, FakeBackend)
    return len(pipe.backend.calls)


async def test_the_first_head_answers_unless_another_is_named() -> None:
    pipe = TextClassificationPipeline(*pieces(MOOD, TOPIC))
    assert (await pipe("good day"))[0]["label"] == "positive"
    assert (await pipe("good day", head="topic"))[0]["label"] == "day"
    assert (await pipe("good day", head="mood"))[0]["label"] == "positive"
    assert pipe.info.heads == ("mood", "topic")
    topic = TextClassificationPipeline(*pieces(MOOD, TOPIC), head="topic")
    assert (await topic("good day"))[0]["label"] == "day"
    assert (await topic(["day", "bad"], head="mood"))[1][0]["label"] == "negative"


async def test_each_head_has_its_own_kind_of_scores() -> None:
    labels = await TextClassificationPipeline(*pieces(MOOD, TOPIC), head="topic")("day day", top_k=None)
    assert [each["score"] for each in labels] == pytest.approx([sigmoid(2), sigmoid(-1), sigmoid(-2)])


@pytest.mark.parametrize("kind", [TextClassificationPipeline, FeatureExtractionPipeline])
async def test_all_heads_and_the_embedding_come_from_one_run(kind: type[TextClassificationPipeline]) -> None:
    pipe = kind(*pieces(MOOD, TOPIC))
    found = await pipe.all_heads("good good day", top_k=1)
    assert calls(pipe) == 1
    assert found["embedding"] == [0.0, 2.0]
    assert {name: labels[0]["label"] for name, labels in found["heads"].items()} == {"mood": "positive", "topic": "day"}
    assert [len(labels) for labels in (await pipe.all_heads("day"))["heads"].values()] == [2, 3]
    several = await pipe.all_heads(["good", "bad"])
    assert [each["embedding"] for each in several] == [[0.0, 1.0], [1.0, 0.0]]
    assert await pipe.all_heads([]) == []


async def test_a_single_head_without_an_embedding_says_none() -> None:
    only = HeadSpec("mood", "logits", ("negative", "positive"), SINGLE_LABEL)
    described = model("q8", heads=(only,))
    backend = FakeBackend("wasm", lambda given: {"logits": answer(given)["mood_logits"]}, dtype="q8")
    chain = Chain(Choice((), ()), [backend], described)
    pipe = TextClassificationPipeline(Runner(chain), described, device(), load_tokenizer(TOKENIZER))
    assert (await pipe("good"))[0]["label"] == "positive"
    assert (await pipe.all_heads("good", top_k=1)) == {"embedding": None, "heads": {"mood": await pipe("good")}}


@pytest.mark.parametrize("name", ["moood", "", 5])
async def test_a_head_that_is_not_there_is_refused_with_those_that_are(name: Any) -> None:
    with pytest.raises(UnknownNameError, match="Known: mood, topic"):
        TextClassificationPipeline(*pieces(MOOD, TOPIC), head=name)
    pipe = TextClassificationPipeline(*pieces(MOOD, TOPIC))
    with pytest.raises(UnknownNameError, match="Known: mood, topic"):
        await pipe("good", head=name)


async def test_a_model_without_heads_has_none_by_any_name() -> None:
    parts = pieces(task="text-classification", labels=("negative", "positive"))
    with pytest.raises(UnknownNameError, match="it is one classifier"):
        TextClassificationPipeline(*parts, head="mood")
    with pytest.raises(InputError, match="has no heads"):
        await TextClassificationPipeline(*parts).all_heads("good")


def test_a_head_of_another_kind_is_refused() -> None:
    with pytest.raises(ManifestError, match="regression"):
        TextClassificationPipeline(*pieces(MOOD, HeadSpec("stars", "stars", ("x",), "regression")))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder with two heads, packed by hand: the embedding is [tokens, 1] of a text."""
    folder = tmp_path_factory.mktemp("models")
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["seen"], ["tokens"], keepdims=1, axes=[1]),
        helper.make_node("Div", ["tokens", "tokens"], ["one"]),
        helper.make_node("Concat", ["tokens", "one"], ["sentence_embedding"], axis=1),
        helper.make_node("Neg", ["sentence_embedding"], ["mood_logits"]),
        helper.make_node("Concat", ["one", "tokens", "one"], ["topic_logits"], axis=1),
    ]
    heads = {"mood": (MOOD, 2), "topic": (TOPIC, 3)}
    widths = {"sentence_embedding": 2, **{f"{name}_logits": width for name, (_, width) in heads.items()}}
    ids = [helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch_size", "sequence_length"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch_size", w]) for name, w in widths.items()]
    graph = helper.make_graph(nodes, "shared", ids, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    onnx.checker.check_model(made)
    data = made.SerializeToString()
    (folder / "shared/onnx").mkdir(parents=True)
    (folder / "shared/onnx/model.onnx").write_bytes(data)
    (folder / "shared/tokenizer.json").write_bytes(TOKENIZER)
    source = {
        "format": 1,
        "name": "shared",
        "task": "feature-extraction",
        "labels": [],
        "problem_type": "",
        "max_length": 8,
        "inputs": [{"name": "attention_mask"}],
        "outputs": [{"name": name} for name in widths],
        "heads": [
            {"name": n, "output": h.output, "labels": list(h.labels), "problem_type": h.problem_type}
            for n, (h, _) in heads.items()
        ],
        "files": {"tokenizer.json": entry("tokenizer.json", TOKENIZER)},
        "golden": [],
        "variants": {
            "fp32": {
                "files": [entry("onnx/model.onnx", data)],
                "largest_tensor": 0,
                "features": [],
                "tolerance": 0.01,
                "golden": [],
            }
        },
    }
    (folder / "shared/edgeinfer.json").write_text(json.dumps({**source, "revision": revision_of(source)}))
    return folder


async def test_a_packed_folder_does_both_tasks_on_cpython(models: Path) -> None:
    folder = str(models / "shared")
    embed, topic = (
        await pipeline("feature-extraction", model=folder),
        await pipeline("text-classification", model=folder, head="topic"),
    )
    assert await embed("good day") == [4.0, 1.0]
    assert (await topic("good day"))[0]["label"] == "night"
    assert (await topic.all_heads("good"))["embedding"] == [3.0, 1.0]
    with pytest.raises(UnknownNameError, match="Known: mood, topic"):
        await pipeline("text-classification", model=folder, head="tone")
    await embed.close()
    await topic.close()


@pytest.fixture(scope="module")
def client(models: Path) -> Iterator[TestClient]:
    with TestClient(create_app(models)) as client:
        yield client


def predict(client: TestClient, inputs: object, **fields: Any) -> Any:
    response = client.post("/predict", json={"inputs": inputs, **fields})
    assert response.status_code == 200, response.text
    return response.json()


async def test_the_server_does_what_the_pipelines_do(client: TestClient, models: Path) -> None:
    embed = await pipeline("feature-extraction", model=str(models / "shared"))
    texts = ["good", "good bad day"]
    assert predict(client, texts[0]) == await embed(texts[0])  # the model's own task
    assert predict(client, texts, task="feature-extraction") == await embed(texts)
    unit = predict(client, "good", parameters={"normalize": True})
    assert unit == await embed("good", normalize=True)
    assert predict(client, "good", task="text-classification")[0]["label"] == "positive"  # the first head's
    topic = predict(client, "good", task="text-classification", parameters={"head": "topic", "top_k": 2})
    assert [each["label"] for each in topic] == ["night", "day"]
    every = predict(client, texts, parameters={"all_heads": True, "top_k": 1})
    assert every == await embed.all_heads(texts, top_k=1)
    await embed.close()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"task": "translation"}, "Unknown task 'translation'"),
        ({"task": 5}, "Unknown task 5"),
        ({"parameters": {"top_k": 1}}, "Unknown parameter 'top_k'"),
        ({"parameters": {"head": "mood"}}, "Unknown parameter 'head'"),
        ({"task": "text-classification", "parameters": {"head": "tone"}}, "Known: mood, topic"),
        ({"task": "text-classification", "parameters": {"normalize": True}}, "Unknown parameter 'normalize'"),
        ({"parameters": {"all_heads": "yes"}}, "must be true or false"),
        ({"parameters": {"all_heads": True, "normalize": True}}, "Unknown parameter 'normalize'"),
        ({"parameters": {"pooling": "cls"}}, "pools in its graph"),
    ],
)
def test_what_the_server_cannot_do_is_422_with_the_reason(client: TestClient, fields: Any, said: str) -> None:
    response = client.post("/predict", json={"inputs": "good", **fields})
    assert response.status_code == 422
    assert said in response.json()["error"]


async def ask(method: str, params: object) -> Any:
    return json.loads(await rpc.handle(method, json.dumps(params), print))


async def test_heads_and_embeddings_cross_to_the_page(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "_pipelines", {})
    folder = str(models / "shared")
    options = {"model": folder, "task": "text-classification", "head": "topic"}
    info = (await ask("load", {"pipeline": 1, "options": options}))["result"]["info"]
    assert info["heads"] == ["mood", "topic"]
    await ask("load", {"pipeline": 2, "options": {"model": folder, "task": "feature-extraction"}})

    def call(number: int, **options: Any) -> Any:
        return ask("call", {"pipeline": number, "inputs": "good", "options": options})

    assert (await call(1))["result"]["result"][0]["label"] == "night"
    assert (await call(1, head="mood", topK=2))["result"]["result"][0]["label"] == "positive"
    assert (await call(2))["result"]["result"] == [3.0, 1.0]
    every = await ask("allHeads", {"pipeline": 2, "inputs": "good", "options": {"topK": 1}})
    assert [len(labels) for labels in every["result"]["result"]["heads"].values()] == [1, 1]
    assert every["result"]["info"]["last"]["tier"] == "native"
    error = (await call(2, topK=1))["error"]
    assert (error["name"], error["details"]["known"]) == ("UnknownNameError", ["normalize", "pooling"])
    for number in (1, 2):
        await ask("dispose", {"pipeline": number})
