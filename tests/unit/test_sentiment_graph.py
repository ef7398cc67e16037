"""The sentiment graph's pooling and head, on an encoder of one embedding table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from sentiment_graph import LAYERS, WIDTH, Floats, Head, join

TOKENS = 20


@pytest.fixture(scope="module")
def table() -> Floats:
    return np.random.default_rng(7).normal(size=(TOKENS, WIDTH)).astype(np.float32)


@pytest.fixture(scope="module")
def head() -> Head:
    weights = np.random.default_rng(8).normal(size=len(LAYERS) * WIDTH) / 50
    return Head(weights.astype(np.float32), 0.25)


def encoder(table: npt.NDArray[np.floating]) -> onnx.ModelProto:
    """Every layer gives the token's row of the table."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["embedded"])]
    nodes += [helper.make_node("Identity", ["embedded"], [layer]) for layer in LAYERS]
    nodes.append(helper.make_node("Identity", [LAYERS[-1]], ["last_hidden_state"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    element = helper.np_dtype_to_tensor_dtype(table.dtype)
    output = helper.make_tensor_value_info("last_hidden_state", element, ["b", "s", WIDTH])
    graph = helper.make_graph(nodes, "tiny", inputs, [output], [numpy_helper.from_array(table, "table")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def logits(model: onnx.ModelProto, ids: list[list[int]], mask: list[list[int]]) -> Floats:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"input_ids": np.array(ids, np.int64), "attention_mask": np.array(mask, np.int64)}
    feeds["token_type_ids"] = np.zeros_like(feeds["input_ids"])
    return np.asarray(session.run(["logits"], feeds)[0], np.float32)


def test_logits_are_the_head_on_the_mean_of_each_layer(table: Floats, head: Head) -> None:
    z = np.tile(table[[3, 4, 5]].mean(0), len(LAYERS)) @ head.weights + head.bias
    found = logits(join(encoder(table), head), [[3, 4, 5]], [[1, 1, 1]])
    np.testing.assert_allclose(found, [[-z / 2, z / 2]], rtol=1e-4, atol=1e-5)


def test_masked_positions_do_not_count(table: Floats, head: Head) -> None:
    model = join(encoder(table), head)
    alone = logits(model, [[3, 4]], [[1, 1]])
    padded = logits(model, [[3, 4, 9, 9], [1, 2, 3, 4]], [[1, 1, 0, 0], [1, 1, 1, 1]])
    np.testing.assert_allclose(padded[:1], alone, atol=1e-6)


def test_an_empty_mask_gives_finite_logits(table: Floats, head: Head) -> None:
    found = logits(join(encoder(table), head), [[3, 4]], [[0, 0]])
    np.testing.assert_allclose(found, [[-0.125, 0.125]], atol=1e-6)


def test_a_half_precision_encoder_gets_a_float32_head(table: Floats, head: Head) -> None:
    half = table.astype(np.float16)
    found = logits(join(encoder(half), head), [[3, 4, 5]], [[1, 1, 1]])
    expected = logits(join(encoder(half.astype(np.float32)), head), [[3, 4, 5]], [[1, 1, 1]])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_join_leaves_the_encoder_as_it_was(table: Floats, head: Head) -> None:
    model = encoder(table)
    before = model.SerializeToString()
    join(model, head)
    assert model.SerializeToString() == before
