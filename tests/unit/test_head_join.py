"""Heads joined to an encoder: what they read, what comes out, and what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from edgeinfer_browser.errors import GraphError, InputError
from edgeinfer_browser.packing.head_file import Features, Head, encoder_digest
from edgeinfer_browser.packing.heads import head_entries, join_heads
from edgeinfer_browser.packing.layers import find_layers
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.pooled_layers import features_model
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL
from tests.layered_encoder import LAYERS, WIDTH, encoder, pooled_encoder

Array = npt.NDArray[Any]

#: Longer than it is wide, so that a batch padded to it has padding.
TEXT, LONGER = [2, 4, 6, 3], [2, 5, 5, 4, 6, 6, 3]


def head(name: str = "mood", features: Features = "every_layer", labels: int = 2, **fields: object) -> Head:
    """A head of random weights."""
    width = WIDTH * (LAYERS + 1) if features == "every_layer" else WIDTH
    random = np.random.default_rng(len(name))
    weights = random.normal(size=(labels, width)).astype(np.float32)
    names = tuple(f"{name} {number}" for number in range(labels))
    made = {"problem_type": SINGLE_LABEL, "bias": random.normal(size=labels).astype(np.float32), **fields}
    return Head(name=name, labels=names, features=features, weights=weights, **made)  # type: ignore[arg-type]


def feeds(*texts: list[int], padding: int = 5) -> dict[str, Array]:
    """Ids padded with a word that means something, and the mask that must hide it."""
    longest = max(map(len, texts))
    ids = [text + [padding] * (longest - len(text)) for text in texts]
    mask = [[1] * len(text) + [0] * (longest - len(text)) for text in texts]
    return {"input_ids": np.array(ids, np.int64), "attention_mask": np.array(mask, np.int64)}


def run(model: onnx.ModelProto, given: dict[str, Array]) -> dict[str, Array]:
    onnx.checker.check_model(model)
    return answers(open_session(model), [given])[0]


def half(model: onnx.ModelProto) -> onnx.ModelProto:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    converted: onnx.ModelProto = convert_float_to_float16(copy)
    return converted


@pytest.mark.parametrize("norm_first", [False, True], ids=["BERT", "pre-norm"])
def test_layers_are_found_by_structure(norm_first: bool) -> None:
    found = find_layers(encoder(norm_first=norm_first))
    last = ["layer0_norm1", "layer1_norm1", "final_norm"] if norm_first else None
    assert list(found.tensors) == (last or ["embeddings_norm", "layer0_norm2", "layer1_norm2"])
    assert found.width == WIDTH


def test_names_do_not_matter_to_finding_layers() -> None:
    model = encoder()
    names = {name: f"x{number}" for number, name in enumerate(sorted({o for n in model.graph.node for o in n.output}))}
    for node in model.graph.node:
        for place in (node.input, node.output):
            place[:] = [names.get(name, name) for name in place]
        node.name = ""
    assert len(find_layers(model).tensors) == LAYERS + 1


def test_a_graph_without_attention_or_norms_is_refused() -> None:
    model = encoder()
    for node in model.graph.node:
        if node.op_type == "LayerNormalization":
            node.op_type = "InstanceNormalization"
    with pytest.raises(GraphError, match="0 of the 3 parts"):
        find_layers(model)
    with pytest.raises(GraphError, match="0 attention nodes"):
        find_layers(encoder(layers=0))


def test_features_are_the_mean_of_the_last_layer_among_others() -> None:
    model = encoder()
    hidden = run(model, feeds(TEXT))["last_hidden_state"]
    features = run(features_model(model, "every_layer"), feeds(TEXT))["features"]
    assert features.shape == (1, (LAYERS + 1) * WIDTH)
    np.testing.assert_allclose(features[0, -WIDTH:], hidden[0].mean(axis=0), atol=1e-6)


def test_logits_are_features_times_weights_plus_bias() -> None:
    mood = head(labels=3)
    features = run(features_model(encoder(), "every_layer"), feeds(TEXT))["features"]
    outputs = run(join_heads(encoder(), [mood], "text-classification"), feeds(TEXT))
    assert list(outputs) == ["logits"]
    np.testing.assert_allclose(outputs["logits"], features @ mood.weights.T + mood.bias, rtol=1e-5)


def test_padding_changes_nothing() -> None:
    model = join_heads(encoder(), [head()], "text-classification")
    alone = [run(model, feeds(text))["logits"][0] for text in (TEXT, LONGER)]
    np.testing.assert_allclose(run(model, feeds(TEXT, LONGER))["logits"], alone, atol=1e-5)


def test_an_empty_mask_gives_the_bias_and_no_nan() -> None:
    model = join_heads(encoder(), [head()], "text-classification")
    outputs = run(model, {**feeds(TEXT), "attention_mask": np.zeros((1, len(TEXT)), np.int64)})
    np.testing.assert_allclose(outputs["logits"][0], head().bias, atol=1e-6)


@pytest.mark.parametrize("task", ["feature-extraction", "text-classification"])
def test_several_heads_share_one_run_with_the_embedding(task: str) -> None:
    heads = [head("mood"), head("topic", "sentence_embedding", labels=4)]
    outputs = run(join_heads(pooled_encoder(), heads, task), feeds(TEXT))
    assert {name: array.shape for name, array in outputs.items()} == {
        "sentence_embedding": (1, WIDTH),
        "mood_logits": (1, 2),
        "topic_logits": (1, 4),
    }
    embedding = run(pooled_encoder(), feeds(TEXT))["sentence_embedding"]
    np.testing.assert_allclose(outputs["sentence_embedding"], embedding)
    np.testing.assert_allclose(outputs["topic_logits"], embedding @ heads[1].weights.T + heads[1].bias, rtol=1e-5)


def test_one_head_keeps_the_embedding_where_that_is_the_task() -> None:
    model = join_heads(pooled_encoder(), [head()], "feature-extraction")
    assert [value.name for value in model.graph.output] == ["sentence_embedding", "mood_logits"]


def test_what_only_the_old_output_needed_is_left_out() -> None:
    model = join_heads(pooled_encoder(), [head()], "text-classification")
    assert not {"last_hidden_state", "sentence_embedding"} & {name for node in model.graph.node for name in node.output}
    assert "first" not in {tensor.name for tensor in model.graph.initializer}


def test_the_encoder_given_is_left_as_it_was() -> None:
    model = pooled_encoder()
    before = model.SerializeToString()
    join_heads(model, [head()], "feature-extraction")
    assert model.SerializeToString() == before


def test_a_head_is_float32_on_a_float16_encoder() -> None:
    heads = [head("mood"), head("topic", "sentence_embedding")]
    model = join_heads(half(pooled_encoder()), heads, "feature-extraction")
    kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    assert kinds["table"] == TensorProto.FLOAT16
    assert kinds["/heads/mood/weights"] == TensorProto.FLOAT
    outputs, exact = (
        run(model, feeds(TEXT)),
        run(join_heads(pooled_encoder(), heads, "feature-extraction"), feeds(TEXT)),
    )
    for name in ("mood_logits", "topic_logits"):
        assert outputs[name].dtype == np.float32
        np.testing.assert_allclose(outputs[name], exact[name], atol=0.05)


def test_quantizers_pass_over_heads(tmp_path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    model = join_heads(encoder(), [head()], "text-classification")
    path = tmp_path / "quantized.onnx"
    quantize_dynamic(model, path)
    quantized = onnx.load(path)
    kinds = {tensor.name: tensor.data_type for tensor in quantized.graph.initializer}
    assert kinds["/heads/mood/weights"] == TensorProto.FLOAT
    assert "layer0_weight" not in kinds
    np.testing.assert_allclose(run(quantized, feeds(TEXT))["logits"], run(model, feeds(TEXT))["logits"], atol=0.5)


def test_the_manifest_says_where_each_head_is() -> None:
    several = [head("mood", problem_type=MULTI_LABEL), head("topic", "sentence_embedding")]
    entries = head_entries(several, "feature-extraction")
    assert [entry["output"] for entry in entries] == ["mood_logits", "topic_logits"]
    assert entries[0]["problem_type"] == MULTI_LABEL
    assert head_entries(several[:1], "text-classification")[0]["output"] == "logits"


@pytest.mark.parametrize(
    ("heads", "word"),
    [
        ([], "no head"),
        ([head("mood"), head("mood", labels=3)], "Two heads are named 'mood'"),
        ([head("mood", encoder="0123456789abcdef")], "another encoder"),
    ],
)
def test_heads_that_do_not_go_together_are_refused(heads: list[Head], word: str) -> None:
    with pytest.raises(InputError, match=word):
        join_heads(pooled_encoder(), heads, "feature-extraction")


def test_a_head_of_another_width_is_refused_with_both_widths() -> None:
    deeper = encoder(layers=3)
    with pytest.raises(InputError, match=r"24 weights a label for every_layer, the encoder gives 32"):
        join_heads(deeper, [head()], "text-classification")


def test_a_head_knows_its_encoder_before_and_after_conversion() -> None:
    mine = head(encoder=encoder_digest(encoder()))
    assert mine.encoder
    join_heads(encoder(), [mine], "text-classification")
    join_heads(half(encoder()), [mine], "text-classification")  # nothing to compare there
    with pytest.raises(InputError, match="another encoder"):
        join_heads(encoder(seed=8), [mine], "text-classification")


def test_an_embedding_that_is_not_there_is_named() -> None:
    for heads in ([head("topic", "sentence_embedding")], [head("a"), head("b")]):
        with pytest.raises(GraphError, match=r"sentence_embedding.*last_hidden_state"):
            join_heads(encoder(), heads, "text-classification")


def test_a_graph_without_a_mask_or_of_an_old_opset_is_refused() -> None:
    unmasked = encoder()
    unmasked.graph.initializer.append(numpy_helper.from_array(np.ones((1, 4), np.int64), "attention_mask"))
    del unmasked.graph.input[1]
    with pytest.raises(GraphError, match="attention_mask"):
        join_heads(unmasked, [head()], "text-classification")
    old = encoder()
    old.opset_import[0].version = 12
    with pytest.raises(GraphError, match="opset 12"):
        join_heads(old, [head()], "text-classification")
