"""Simplifying and fusing: kept where the answers stay, dropped with a reason where they do not."""

from __future__ import annotations

import logging

import numpy as np
import onnx
import onnxslim
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from edgeinfer_browser.packing.differences import Answers
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.operators import check_operators
from edgeinfer_browser.packing.pruning import pruned, without_type_ids
from edgeinfer_browser.packing.simplify import Feeds, fused, simplified
from tests import tiny_encoder

IDS = np.array([[2, 4, 5, 3]])
FEEDS: Feeds = [{"input_ids": IDS, "attention_mask": np.ones_like(IDS), "token_type_ids": np.zeros_like(IDS)}]


def before(model: onnx.ModelProto) -> Answers:
    return answers(open_session(model), FEEDS)


def spelled_out() -> onnx.ModelProto:
    """A LayerNormalization and a Gelu in the many small steps in which torch exported them before opset 17."""
    steps: list[tuple[str, list[str], str]] = [
        ("Gather", ["words", "input_ids"], "word"),
        ("ReduceMean", ["word"], "mean"),
        ("Sub", ["word", "mean"], "centred"),
        ("Pow", ["centred", "two"], "squares"),
        ("ReduceMean", ["squares"], "variance"),
        ("Add", ["variance", "epsilon"], "safe"),
        ("Sqrt", ["safe"], "deviation"),
        ("Div", ["centred", "deviation"], "unit"),
        ("Mul", ["unit", "gain"], "scaled"),
        ("Add", ["scaled", "shift"], "normed"),
        ("Div", ["normed", "root"], "for_erf"),
        ("Erf", ["for_erf"], "erf"),
        ("Add", ["erf", "one"], "erf_1"),
        ("Mul", ["normed", "erf_1"], "product"),
        ("Mul", ["product", "half"], "last_hidden_state"),
    ]
    nodes = [helper.make_node(kind, read, [made], name=made) for kind, read, made in steps]
    for node in nodes:
        if node.op_type == "ReduceMean":
            node.attribute.append(helper.make_attribute("axes", [-1]))
    width = tiny_encoder.WIDTH
    constants = {"two": 2.0, "epsilon": 1e-12, "root": 2**0.5, "one": 1.0, "half": 0.5}
    weights = {name: np.array(value, np.float32) for name, value in constants.items()}
    weights["words"] = np.random.default_rng(0).normal(size=(tiny_encoder.VOCABULARY, width)).astype(np.float32)
    weights["gain"], weights["shift"] = np.linspace(0.5, 1.5, width, dtype=np.float32), np.ones(width, np.float32)
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", width])
    return tiny_encoder.model(nodes, [tiny_encoder.int_input("input_ids", ("batch", "sequence"))], [output], weights)


def kinds(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node}


def test_layer_norm_and_gelu_become_one_node_each() -> None:
    model = spelled_out()
    del model.opset_import[1:]  # com.microsoft, whose Gelu is about to come in
    made, note = fused(model, FEEDS, before(model))
    assert note == "fused to 1 Gelu and 1 LayerNormalization (onnxruntime.transformers)"
    assert kinds(made) == {"Gather", "LayerNormalization", "Gelu"}
    check_operators(made, "fused")
    assert np.allclose(before(made)[0]["last_hidden_state"], before(model)[0]["last_hidden_state"], atol=1e-5)


def test_what_is_fused_already_is_left() -> None:
    model = tiny_encoder.encoder()
    assert fused(model, FEEDS, before(model)) == (model, "nothing left to fuse")


def test_a_tool_that_changes_the_answer_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(model: onnx.ModelProto) -> onnx.ModelProto:
        gain = next(tensor for tensor in model.graph.initializer if tensor.name == "gain")
        gain.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(gain) * np.float32(1.01), "gain"))
        return model

    monkeypatch.setattr(onnxslim, "slim", wrong)
    model = tiny_encoder.encoder()
    made, note = simplified(model, FEEDS, before(model))
    assert made is model
    assert note == "not simplified: its answers differed by 0.01 of the largest value"


def test_a_tool_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: onnx.ModelProto) -> onnx.ModelProto:
        logging.warning("a word from the tool")
        raise KeyError("some tensor")

    monkeypatch.setattr(onnxslim, "slim", broken)
    handlers = list(logging.getLogger().handlers)
    model = tiny_encoder.encoder()
    assert simplified(model, FEEDS, before(model)) == (model, "not simplified: KeyError: 'some tensor'")
    assert logging.getLogger().handlers == handlers


def test_dead_nodes_unread_weights_and_unread_inputs_go() -> None:
    model = tiny_encoder.encoder()
    expected = before(model)[0]["last_hidden_state"]
    model.graph.node.append(helper.make_node("Identity", ["word"], ["dead"], name="dead"))
    model.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "unread"))
    model.graph.input.append(tiny_encoder.int_input("position_ids", ("batch", "sequence")))
    made, dropped = pruned(model)
    assert dropped == ["position_ids"]
    assert "dead" not in {node.name for node in made.graph.node}
    assert "unread" not in {tensor.name for tensor in made.graph.initializer}
    assert before(made)[0]["last_hidden_state"] == pytest.approx(expected)


def test_type_ids_of_single_texts_fold_into_a_row() -> None:
    model = tiny_encoder.encoder()
    folded = without_type_ids(model)
    assert folded is not None
    made, dropped = pruned(folded)
    assert dropped == ["token_type_ids"]
    assert before(made)[0]["last_hidden_state"] == pytest.approx(before(model)[0]["last_hidden_state"])


def test_type_ids_with_another_use_do_not_fold() -> None:
    model = tiny_encoder.encoder()
    cast: NodeProto = helper.make_node("Cast", ["token_type_ids"], ["other"], name="other", to=TensorProto.FLOAT)
    model.graph.node.append(cast)
    assert without_type_ids(model) is None
