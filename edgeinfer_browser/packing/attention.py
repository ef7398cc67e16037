"""Attention in standard operators, in the place of ONNX Runtime's fused MultiHeadAttention.

Fused, it is no faster in WASM, where the time is in the matrices (MiniLM int8, 8, 16, 32 and 128 tokens: 3.4, 5.4, 10.3
and 122 ms; written out 3.4, 5.7, 10.3 and 116); and onnxruntime-web 1.30's WebGPU kernel for it gives
wrong answers from 32 tokens on where a GPU's subgroups are 4 wide (found with SwiftShader: off by as much as the values
themselves). In standard operators every tier agrees. The mask need not be repeated for each head either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

#: Inputs of MultiHeadAttention that are written out here, by place; others (masks by length, pasts) are not.
_QUERY, _KEY, _VALUE, _ATTENTION_BIAS = 0, 1, 2, 5

#: Operator, inputs, output, attributes.
_Step = tuple[str, list[str], str, dict[str, Any]]


def plain_attention(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with each MultiHeadAttention of query, key, value and attention bias written out; others stay."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    widths = _widths(made.graph)
    nodes = [each for node in made.graph.node for each in _plain(node, made.graph, widths)]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def is_fused(node: NodeProto, widths: Mapping[str, int]) -> bool:
    """Whether a node is a MultiHeadAttention that can be written out."""
    used = {place for place, name in enumerate(node.input) if name}
    fits = used <= {_QUERY, _KEY, _VALUE, _ATTENTION_BIAS} and used >= {_QUERY, _KEY, _VALUE}
    return node.op_type == "MultiHeadAttention" and fits and len(node.output) == 1 and node.input[_QUERY] in widths


def _plain(node: NodeProto, graph: GraphProto, widths: Mapping[str, int]) -> Iterator[NodeProto]:
    """softmax(query @ key^T * scale + bias) @ value, heads side by side: [batch, sequence, width] in and out."""
    if not is_fused(node, widths):
        yield node
        return
    options: dict[str, Any] = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    heads, width, name = int(options["num_heads"]), widths[node.input[_QUERY]], node.name or node.output[0]
    scale = float(options.get("scale") or 0.0) or 1 / math.sqrt(width // heads)
    for tensor, values in (
        ("split", np.array([0, 0, heads, -1], np.int64)),
        ("join", np.array([0, 0, -1], np.int64)),
        ("scale", np.array(scale, np.float32)),
    ):
        graph.initializer.append(numpy_helper.from_array(values, f"{name}/{tensor}"))
    query, key, value = node.input[_QUERY], node.input[_KEY], node.input[_VALUE]
    steps: list[_Step] = [
        ("Reshape", [query, "~split"], "~query_split", {}),
        ("Transpose", ["~query_split"], "~query", {"perm": [0, 2, 1, 3]}),
        ("Mul", ["~query", "~scale"], "~query_scaled", {}),
        ("Reshape", [key, "~split"], "~key_split", {}),
        ("Transpose", ["~key_split"], "~key", {"perm": [0, 2, 3, 1]}),
        ("Reshape", [value, "~split"], "~value_split", {}),
        ("Transpose", ["~value_split"], "~value", {"perm": [0, 2, 1, 3]}),
        ("MatMul", ["~query_scaled", "~key"], "~scores", {}),
        *([("Add", ["~scores", bias], "~biased", {})] if (bias := _bias(node, graph)) else []),
        ("Softmax", ["~biased" if bias else "~scores"], "~shares", {"axis": -1}),
        ("MatMul", ["~shares", "~value"], "~mixed", {}),
        ("Transpose", ["~mixed"], "~mixed_back", {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["~mixed_back", "~join"], node.output[0], {}),
    ]
    for step in steps:
        yield _node(name, step)


def _node(name: str, step: _Step) -> NodeProto:
    """The step as a node; a tensor that begins with ~ is the attention's own, and goes below its name."""
    kind, inputs, output, attributes = step
    read, (written,) = _own(name, inputs), _own(name, [output])
    node = helper.make_node(kind, read, [written], name=f"{name}/{output[1:] if output[0] == '~' else 'output'}")
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return node


def _own(name: str, tensors: list[str]) -> list[str]:
    return [f"{name}/{tensor[1:]}" if tensor.startswith("~") else tensor for tensor in tensors]


def _bias(node: NodeProto, graph: GraphProto) -> str | None:
    """The attention bias, before it was repeated for each head: Add broadcasts it."""
    if len(node.input) <= _ATTENTION_BIAS or not node.input[_ATTENTION_BIAS]:
        return None
    name = node.input[_ATTENTION_BIAS]
    maker = next((each for each in graph.node if name in each.output), None)
    return str(maker.input[0] if maker is not None and maker.op_type == "Expand" else name)


def _widths(graph: GraphProto) -> dict[str, int]:
    """Tensor -> its last dim, for what a projection makes: a product with a constant matrix, and a bias added."""
    dims = {tensor.name: tensor.dims for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT}
    found: dict[str, int] = {}
    for node in graph.node:
        if node.op_type == "MatMul" and len(dims.get(node.input[1], ())) == 2:
            found[node.output[0]] = int(dims[node.input[1]][1])
        elif node.op_type == "Add":
            widths = [found[name] for name in node.input if name in found]
            if widths:
                found[node.output[0]] = widths[0]
    return found
