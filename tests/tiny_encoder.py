"""A tiny encoder of texts (a few kB), made by script: one layer of random weights over tiny_model's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests import tiny_model

WIDTH, HEADS, POSITIONS = 16, 2, 32
VOCABULARY = len(tiny_model.SPECIAL) + len(tiny_model.WORDS)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write(folder: Path, model: onnx.ModelProto | None = None, *, config: dict[str, Any] | None = None) -> Path:
    """A source folder in Hugging Face layout: tokenizer.json, onnx/model.onnx, and config.json when one is given."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    onnx.save(model or encoder(), folder / "onnx/model.onnx")
    (folder / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer()))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def encoder(*, fused: bool = False, dims: tuple[str | int, str | int] = ("batch", "sequence")) -> onnx.ModelProto:
    """input_ids, attention_mask, token_type_ids int64 -> last_hidden_state float32 [batch, sequence, WIDTH].

    Args:
        fused: attention as one com.microsoft MultiHeadAttention node.
        dims: of the inputs.
    """
    nodes = [*_embeddings(), *_mask(), *_projections()]
    nodes += _fused_attention() if fused else _attention()
    nodes += [
        _node("MatMul", ["mixed", "w_out"], "projected"),
        _node("Add", ["projected", "normed"], "residual"),
        _node("LayerNormalization", ["residual", "gain", "shift"], "last_hidden_state"),
    ]
    return model(nodes, [int_input(name, dims) for name in INPUTS], [_hidden(dims)], _weights())


def model(
    nodes: list[NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: dict[str, npt.NDArray[Any]],
) -> onnx.ModelProto:
    """A model of opset 17."""
    tensors = [numpy_helper.from_array(values, name) for name, values in weights.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        helper.make_graph(nodes, "tiny", inputs, outputs, tensors), opset_imports=opsets, ir_version=8
    )


def int_input(name: str, dims: tuple[str | int, ...]) -> onnx.ValueInfoProto:
    """An int64 input."""
    return helper.make_tensor_value_info(name, TensorProto.INT64, dims)


def with_scores(kind: str, labels: int = 2) -> onnx.ModelProto:
    """The encoder's first token through a matrix and, as some exporters leave it, a last Softmax or Sigmoid."""
    made = encoder()
    weights: dict[str, npt.NDArray[Any]] = {"first": np.array(0, np.int64), "w_labels": _random(WIDTH, labels)}
    made.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in weights.items())
    made.graph.node.append(_node("Gather", ["last_hidden_state", "first"], "token", axis=1))
    made.graph.node.append(_node("MatMul", ["token", "w_labels"], "raw"))
    made.graph.node.append(_node(kind, ["raw"], "scores"))
    del made.graph.output[:]
    made.graph.output.append(helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", labels]))
    return made


def _hidden(dims: tuple[str | int, str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*dims, WIDTH])


def _embeddings() -> list[NodeProto]:
    return [
        _node("Gather", ["words", "input_ids"], "word"),
        _node("Gather", ["types", "token_type_ids"], "type"),
        _node("Shape", ["input_ids"], "shape"),
        _node("Gather", ["shape", "one"], "length"),
        _node("Range", ["zero", "length", "one"], "places"),
        _node("Gather", ["positions", "places"], "position"),
        _node("Add", ["word", "type"], "typed"),
        _node("Add", ["typed", "position"], "embedded"),
        _node("LayerNormalization", ["embedded", "gain", "shift"], "normed"),
    ]


def _mask() -> list[NodeProto]:
    """0 on the text, -1e9 on the padding: [batch, 1, 1, sequence]."""
    return [
        _node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT),
        _node("Sub", ["one_float", "mask"], "hidden_places"),
        _node("Mul", ["hidden_places", "far"], "bias_flat"),
        _node("Unsqueeze", ["bias_flat", "axes_1_2"], "bias"),
    ]


def _projections() -> list[NodeProto]:
    return [_node("MatMul", ["normed", f"w_{name}"], name) for name in ("query", "key", "value")]


def _fused_attention() -> list[NodeProto]:
    """With the mask repeated for every head and place, as exporters write it."""
    inputs = ["query", "key", "value", "", "", "bias_everywhere"]
    node = helper.make_node("MultiHeadAttention", inputs, ["mixed"], name="mixed", domain="com.microsoft")
    node.attribute.append(helper.make_attribute("num_heads", HEADS))
    return [
        _node("Gather", ["shape", "zero"], "texts"),
        _node("Unsqueeze", ["texts", "axis_0"], "texts_1"),
        _node("Unsqueeze", ["length", "axis_0"], "length_1"),
        _node("Concat", ["texts_1", "heads_1", "length_1", "length_1"], "everywhere", axis=0),
        _node("Expand", ["bias", "everywhere"], "bias_everywhere"),
        node,
    ]


def _attention() -> list[NodeProto]:
    nodes = []
    for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        nodes.append(_node("Reshape", [name, "split"], f"{name}_split"))
        nodes.append(_node("Transpose", [f"{name}_split"], f"{name}_turned", perm=order))
    return [
        *nodes,
        _node("MatMul", ["query_turned", "key_turned"], "products"),
        _node("Mul", ["products", "scale"], "scaled"),
        _node("Add", ["scaled", "bias"], "biased"),
        _node("Softmax", ["biased"], "shares", axis=-1),
        _node("MatMul", ["shares", "value_turned"], "mixed_split"),
        _node("Transpose", ["mixed_split"], "mixed_turned", perm=[0, 2, 1, 3]),
        _node("Reshape", ["mixed_turned", "join"], "mixed"),
    ]


def _weights() -> dict[str, npt.NDArray[Any]]:
    matrices = {f"w_{name}": _random(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
    return {
        "words": _random(VOCABULARY, WIDTH),
        "types": _random(2, WIDTH),
        "positions": _random(POSITIONS, WIDTH),
        "gain": np.ones(WIDTH, np.float32),
        "shift": np.zeros(WIDTH, np.float32),
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "one_float": np.array(1.0, np.float32),
        "far": np.array(-1e9, np.float32),
        "axes_1_2": np.array([1, 2], np.int64),
        "axis_0": np.array([0], np.int64),
        "heads_1": np.array([HEADS], np.int64),
        "split": np.array([0, 0, HEADS, WIDTH // HEADS], np.int64),
        "join": np.array([0, 0, WIDTH], np.int64),
        "scale": np.array((WIDTH // HEADS) ** -0.5, np.float32),
        **matrices,
    }


def _random(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(sum(shape)).normal(0, 0.7, shape).astype(np.float32)


def _node(kind: str, inputs: list[str], output: str, **attributes: Any) -> NodeProto:
    node = helper.make_node(kind, inputs, [output], name=output)
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return node
