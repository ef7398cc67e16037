"""float16 where values are larger than it holds: they stay float32, and the user is told."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization.float16 import overflow_warnings, overflows
from edgeinfer_browser.quantization.recipes import quantize
from tests.quantizable import text_encoder, text_feeds


def scaled_up_and_down(up: float, down: float) -> onnx.ModelProto:
    """``x`` float32 [1, 4] times ``up``, times ``down``, and a matrix after it."""
    nodes = [
        helper.make_node("Mul", ["x", "up"], ["large"], name="/large"),
        helper.make_node("Mul", ["large", "down"], ["small"], name="/small"),
        helper.make_node("MatMul", ["small", "matrix"], ["y"], name="/y"),
    ]
    weights = {"up": np.full(4, up), "down": np.full(4, down), "matrix": np.eye(4)}
    graph = helper.make_graph(
        nodes,
        "scaled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(values.astype(np.float32), name) for name, values in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


FEED = {"x": np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)}


def test_an_activation_seen_to_overflow_stays_float32_from_its_maker_to_its_readers() -> None:
    model = scaled_up_and_down(3e4, 1 / 3e4)
    made = quantize(model, "fp16", calibration=[FEED])
    np.testing.assert_allclose(answers(open_session(made), [FEED])[0]["y"], FEED["x"], rtol=1e-3)
    kinds = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
    assert kinds == {"up": TensorProto.FLOAT, "down": TensorProto.FLOAT, "matrix": TensorProto.FLOAT16}
    assert {node.op_type for node in made.graph.node[:3]} == {"Mul", "Cast"}, "no 16-bit stop between the two"
    unseen = quantize(model, "fp16")  # nobody can know without samples
    assert {tensor.data_type for tensor in unseen.graph.initializer} == {TensorProto.FLOAT16}


def test_a_weight_beyond_float16_stays_float32_without_any_sample() -> None:
    model = scaled_up_and_down(1e6, 1e-6)
    made = quantize(model, "fp16", calibration=[FEED])
    np.testing.assert_allclose(answers(open_session(made), [FEED])[0]["y"], FEED["x"], rtol=1e-3)
    assert overflows(model) == {"up": 1e6}


def test_the_warning_names_the_value_and_how_large_it_gets() -> None:
    assert overflow_warnings(scaled_up_and_down(3e4, 1 / 3e4)) == []
    assert overflow_warnings(scaled_up_and_down(3e4, 1 / 3e4), [FEED]) == [
        "large reaches 1.2e+05, beyond float16's 65504: its nodes stay float32."
    ]


def test_what_fills_an_attention_mask_is_no_overflow() -> None:
    model = text_encoder()
    [feed] = text_feeds(1, seed=4)
    padded = {name: np.pad(array, ((0, 0), (0, 3))) for name, array in feed.items()}
    assert overflow_warnings(model, [feed, padded]) == []
    made = quantize(model, "fp16", calibration=[feed, padded])
    [alone, with_padding] = answers(open_session(made), [feed, padded])
    np.testing.assert_allclose(
        with_padding["sentence_embedding"], alone["sentence_embedding"], atol=0.02, err_msg="padding is seen"
    )


def test_operators_can_be_kept() -> None:
    made = quantize(text_encoder(), "fp16", keep_op_types=("LayerNormalization",))
    kinds = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
    assert (kinds["gamma"], kinds["query"]) == (TensorProto.FLOAT, TensorProto.FLOAT16)
