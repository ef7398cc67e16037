"""Pooling and normalising in the graph: from what a model says of each token to one vector of a text.

The masked mean is ``shares [batch, 1, sequence] @ hidden [batch, sequence, width]``, shares being 1/length on the text
and 0 on the padding, so padding cannot change it. All of it is float32, whatever the encoder is: it costs next to
nothing, and float16 sums of a long text would move the answer. Nodes are named below :data:`POOLING_SCOPE`, for
converters to leave as they are.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from edgeinfer_browser.manifest import EMBEDDING
from edgeinfer_browser.packing.operators import rename

Pooling = Literal["mean", "cls", "none"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

#: Every node and tensor added here is named below it.
POOLING_SCOPE = "/pooling/"

#: A vector shorter than this is divided by it, not by its length: zeros stay zeros (as torch.nn.functional.normalize).
_SHORTEST = 1e-12


def pooled(
    model: onnx.ModelProto, hidden: str, width: int, pooling: Literal["mean", "cls"] | None, normalize: bool
) -> onnx.ModelProto:
    """A copy whose one output is ``sentence_embedding`` float32 [batch_size, width].

    Args:
        model: opset 13 or newer. An input ``attention_mask`` is added for ``mean`` where it has none.
        hidden: the output to pool, [batch, sequence, width].
        width: of a vector.
        pooling: ``mean`` of the tokens that the mask has, or the first token (``cls``); None when ``hidden`` is pooled
            already, [batch, width].
        normalize: divide by the L2 norm.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    source = _renamed(made.graph, hidden)
    nodes = [_node("Cast", [source], "hidden", to=TensorProto.FLOAT)] if _is_half(model.graph, hidden) else []
    nodes += _STEPS[pooling](_in("hidden") if nodes else source)
    if pooling == "mean" and all(value.name != "attention_mask" for value in made.graph.input):
        dims = ["batch_size", "sequence_length"]
        made.graph.input.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, dims))
    nodes += _normalized() if normalize else []
    nodes[-1].output[0] = EMBEDDING
    made.graph.node.extend(nodes)
    made.graph.initializer.extend(tensor for name, tensor in _CONSTANTS.items() if _is_used(name, nodes))
    del made.graph.output[:]
    made.graph.output.append(helper.make_tensor_value_info(EMBEDDING, TensorProto.FLOAT, ["batch_size", width]))
    return made


def _mean(hidden: str) -> list[NodeProto]:
    return [
        _node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT),
        _node("ReduceSum", [_in("mask"), _in("axis_1")], "length", keepdims=1),
        _node("Clip", [_in("length"), _in("one")], "divisor"),  # an empty mask gives 0, not NaN
        _node("Div", [_in("mask"), _in("divisor")], "share"),
        _node("Unsqueeze", [_in("share"), _in("axis_1")], "shares"),
        _node("MatMul", [_in("shares"), hidden], "means"),
        _node("Squeeze", [_in("means"), _in("axis_1")], "vector"),
    ]


def _first(hidden: str) -> list[NodeProto]:
    return [_node("Gather", [hidden, _in("first")], "vector", axis=1)]


def _as_it_is(hidden: str) -> list[NodeProto]:
    return [_node("Identity", [hidden], "vector")]


def _normalized() -> list[NodeProto]:
    return [
        _node("Mul", [_in("vector"), _in("vector")], "squares"),
        _node("ReduceSum", [_in("squares"), _in("axis_1")], "sum", keepdims=1),
        _node("Sqrt", [_in("sum")], "norm"),
        _node("Clip", [_in("norm"), _in("shortest")], "length_or_more"),
        _node("Div", [_in("vector"), _in("length_or_more")], "unit"),
    ]


_STEPS = {"mean": _mean, "cls": _first, None: _as_it_is}


def _is_half(graph: onnx.GraphProto, name: str) -> bool:
    """Whether an output is not float32 already."""
    return any(value.name == name and value.type.tensor_type.elem_type != TensorProto.FLOAT for value in graph.output)


def _renamed(graph: onnx.GraphProto, name: str) -> str:
    """The output's name, after making room when it is the very one that the embedding will have."""
    if name != EMBEDDING:
        return name
    rename(graph, name, f"{name}_before")
    return f"{name}_before"


def _in(name: str) -> str:
    return POOLING_SCOPE + name


def _node(kind: str, inputs: list[str], output: str, **attributes: int) -> NodeProto:
    node = helper.make_node(kind, inputs, [_in(output)], name=_in(output))
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return node


def _constant(name: str, values: npt.NDArray[np.generic]) -> TensorProto:
    return numpy_helper.from_array(values, _in(name))


_CONSTANTS = {
    tensor.name: tensor
    for tensor in (
        _constant("axis_1", np.array([1], np.int64)),
        _constant("first", np.array(0, np.int64)),
        _constant("one", np.array(1.0, np.float32)),
        _constant("shortest", np.array(_SHORTEST, np.float32)),
    )
}


def _is_used(name: str, nodes: list[NodeProto]) -> bool:
    return any(name in node.input for node in nodes)
