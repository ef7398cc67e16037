"""int64 computations that make a GPU wait, found in the graph.

onnxruntime-web's WebGPU provider has kernels that make int64 (ArgMax, TopK, Cast) and that index with it (Gather,
GatherElements, ...), and none that compute on it: such a node runs on the CPU. On shapes and on a graph's own integer
inputs that costs one copy before the GPU starts. On values that the GPU computed, each run has to wait for it, copy
them to the CPU and back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import onnx
from onnx import TensorProto, helper

#: op type -> outputs that are int64 whatever goes in.
_MAKES_INT64 = {"ArgMax": (0,), "ArgMin": (0,), "TopK": (1,), "NonZero": (0,), "Shape": (0,), "Size": (0,)}
#: op type -> inputs that may be int64 on the GPU: indices.
_INDICES = {"Gather": (1,), "GatherElements": (1,), "GatherND": (1,), "ScatterND": (1,), "ScatterElements": (1,)}
#: Their output's type is another than their first input's.
_COMPARES = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Not", "IsNaN", "IsInf"}
#: What they read is a shape or a constant, never a value that the GPU made.
_SHAPES = {"Shape", "Size", "Constant"}


def int64_nodes(graph: onnx.GraphProto) -> Counter[str]:
    """op type -> nodes that compute on int64 values which come from float ones. Nodes must be in topological order."""
    integers = {value.name for value in graph.input if value.type.tensor_type.elem_type == TensorProto.INT64}
    integers |= {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.INT64}
    computed = {value.name for value in graph.input if value.type.tensor_type.elem_type in _FLOATS}
    floats = {tensor.name for tensor in graph.initializer if tensor.data_type in _FLOATS}
    found: Counter[str] = Counter()
    for node in graph.node:
        waits = _reads(node, integers & computed)
        found[node.op_type] += bool(waits)
        if node.op_type not in _SHAPES and any(name in computed or name in floats for name in node.input):
            computed |= set(node.output)
        integers |= set(_int64_outputs(node, integers))
    return +found


_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)


def _reads(node: onnx.NodeProto, names: set[str]) -> list[str]:
    """Inputs among ``names`` that the node computes on; indices and shapes' sources are left out."""
    if node.op_type in _SHAPES:
        return []
    allowed = _INDICES.get(node.op_type, ())
    return [name for index, name in enumerate(node.input) if name in names and index not in allowed]


def _int64_outputs(node: onnx.NodeProto, integers: set[str]) -> Iterable[str]:
    if node.op_type == "Cast":
        return node.output if helper.get_node_attr_value(node, "to") == TensorProto.INT64 else ()
    if node.op_type == "Constant":
        values = [each for each in node.attribute if each.name in ("value", "value_int", "value_ints")]
        return node.output if any(_is_int64(each) for each in values) else ()
    if node.op_type in _MAKES_INT64:
        return [node.output[index] for index in _MAKES_INT64[node.op_type] if index < len(node.output)]
    if node.op_type in _COMPARES:
        return ()
    source = node.input[1:2] if node.op_type == "Where" else node.input[:1]
    return node.output if any(name in integers for name in source) else ()


def _is_int64(attribute: onnx.AttributeProto) -> bool:
    return attribute.name != "value" or attribute.t.data_type == TensorProto.INT64
