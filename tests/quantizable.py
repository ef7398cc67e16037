"""Graphs in miniature that have what quantizers look for: an embedding table, matrices, a Gemm; or convolutions.

Random weights of a fixed seed. The text encoder takes texts of any length and gives their masked mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

WORDS, WIDTH, MIDDLE = 200, 64, 128

Feed = dict[str, npt.NDArray[Any]]


def text_encoder() -> onnx.ModelProto:
    """``input_ids``, ``attention_mask`` int64 [batch_size, sequence_length] -> ``sentence_embedding`` float32."""
    random = np.random.default_rng(20)
    weights = {
        "table": random.normal(size=(WORDS, WIDTH)),
        "query": random.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5,
        "key": random.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5,
        "up": random.normal(size=(WIDTH, MIDDLE)) / WIDTH**0.5,
        "up_bias": random.normal(size=MIDDLE) / 10,
        "down": random.normal(size=(MIDDLE, WIDTH)) / MIDDLE**0.5,
        "out": random.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5,
        "out_bias": random.normal(size=WIDTH) / 10,
        "gamma": random.uniform(0.5, 1.5, WIDTH),
        "beta": random.normal(size=WIDTH) / 10,
        "one": 1.0,
        "far": np.finfo(np.float32).min,
    }
    nodes = [
        _node("Gather", ["table", "input_ids"], "words"),
        _node("LayerNormalization", ["words", "gamma", "beta"], "normal"),
        _node("MatMul", ["normal", "query"], "queries"),
        _node("MatMul", ["normal", "key"], "keys"),
        _node("Transpose", ["keys"], "turned", perm=[0, 2, 1]),
        _node("MatMul", ["queries", "turned"], "scores"),
        _node("Cast", ["attention_mask"], "seen", to=TensorProto.FLOAT),
        _node("Sub", ["one", "seen"], "unseen"),
        _node("Mul", ["unseen", "far"], "penalty"),
        _node("Unsqueeze", ["penalty", "axis1"], "bias"),
        _node("Add", ["scores", "bias"], "masked"),
        _node("Softmax", ["masked"], "shares"),
        _node("MatMul", ["shares", "normal"], "attended"),
        _node("Add", ["attended", "normal"], "sum1"),
        _node("MatMul", ["sum1", "up"], "raised"),
        _node("Add", ["raised", "up_bias"], "biased"),
        _node("Relu", ["biased"], "active"),
        _node("MatMul", ["active", "down"], "lowered"),
        _node("Add", ["lowered", "sum1"], "sum2"),
        _node("Unsqueeze", ["seen", "axis2"], "column"),
        _node("Mul", ["sum2", "column"], "kept"),
        _node("ReduceSum", ["kept", "axis1"], "sum", keepdims=0),
        _node("ReduceSum", ["column", "axis1"], "length", keepdims=0),
        _node("Div", ["sum", "length"], "mean"),
        _node("Gemm", ["mean", "out", "out_bias"], "sentence_embedding"),
    ]
    inputs = [_value(n, TensorProto.INT64, ["batch_size", "sequence_length"]) for n in ("input_ids", "attention_mask")]
    output = _value("sentence_embedding", TensorProto.FLOAT, ["batch_size", WIDTH])
    return _model(nodes, inputs, output, weights)


def text_feeds(count: int, seed: int) -> list[Feed]:
    """Texts of 3 to 20 words."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 21, count)
    return [
        {"input_ids": random.integers(0, WORDS, (1, n)), "attention_mask": np.ones((1, n), np.int64)} for n in lengths
    ]


def image_classifier() -> onnx.ModelProto:
    """``pixels`` float32 [1, 3, 16, 16] -> ``logits`` float32 [1, 8]: two convolutions and a Gemm."""
    random = np.random.default_rng(21)
    weights = {
        "kernel1": random.normal(size=(16, 3, 3, 3)) / 27**0.5,
        "bias1": random.normal(size=16) / 10,
        "kernel2": random.normal(size=(32, 16, 3, 3)) / 144**0.5,
        "bias2": random.normal(size=32) / 10,
        "head": random.normal(size=(32, 8)) / 32**0.5,
        "head_bias": random.normal(size=8) / 10,
    }
    nodes = [
        _node("Conv", ["pixels", "kernel1", "bias1"], "conv1", pads=[1, 1, 1, 1], strides=[2, 2]),
        _node("Relu", ["conv1"], "relu1"),
        _node("Conv", ["relu1", "kernel2", "bias2"], "conv2", pads=[1, 1, 1, 1]),
        _node("Relu", ["conv2"], "relu2"),
        _node("GlobalAveragePool", ["relu2"], "pooled"),
        _node("Flatten", ["pooled"], "flat"),
        _node("Gemm", ["flat", "head", "head_bias"], "logits"),
    ]
    inputs = [_value("pixels", TensorProto.FLOAT, [1, 3, 16, 16])]
    return _model(nodes, inputs, _value("logits", TensorProto.FLOAT, [1, 8]), weights)


def image_feeds(count: int, seed: int) -> list[Feed]:
    """Noise around a colour."""
    random = np.random.default_rng(seed)
    shape = (1, 3, 16, 16)
    return [{"pixels": (random.normal() + random.normal(size=shape)).astype(np.float32)} for _ in range(count)]


def _node(kind: str, inputs: list[str], output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(kind, inputs, [output], name=f"/{output}", **attributes)


def _value(name: str, dtype: int, shape: list[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def _model(
    nodes: list[NodeProto], inputs: list[onnx.ValueInfoProto], output: onnx.ValueInfoProto, weights: dict[str, Any]
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(np.asarray(values, np.float32), name) for name, values in weights.items()]
    read = {name for node in nodes for name in node.input}
    axes = [numpy_helper.from_array(np.array([axis]), f"axis{axis}") for axis in (1, 2) if f"axis{axis}" in read]
    graph = helper.make_graph(nodes, "quantizable", inputs, [output], [*tensors, *axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model
