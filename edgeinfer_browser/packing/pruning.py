"""Leave out what a graph does not need: nodes that lead to no output, weights and inputs that nothing reads."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, numpy_helper

from edgeinfer_browser.packing.operators import all_nodes


def pruned(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """A copy without the unneeded, and the names of the inputs that were dropped."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    nodes = _needed(graph)
    del graph.node[:]
    graph.node.extend(nodes)
    _forget_shapes(graph)
    read = _read_by(nodes) | {output.name for output in graph.output}
    weights = [tensor for tensor in graph.initializer if tensor.name in read]
    # Old exporters list weights among the inputs too: ONNX Runtime cannot fold those.
    named = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name in read and value.name not in named]
    dropped = [value.name for value in graph.input if value.name not in read | named]
    del graph.initializer[:], graph.input[:]
    graph.initializer.extend(weights)
    graph.input.extend(inputs)
    return made, dropped


def without_type_ids(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy in which every token is of type 0, as in a single text; None when the ids are used for anything else.

    ``Gather(table, token_type_ids)`` becomes the table's first row, which is broadcast where it is added.
    """
    readers = [node for node in all_nodes(model.graph) if "token_type_ids" in node.input]
    tables = {tensor.name: tensor for tensor in model.graph.initializer}
    if not readers or any(node.op_type != "Gather" or node.input[0] not in tables or _axis(node) for node in readers):
        return None
    made = onnx.ModelProto()
    made.CopyFrom(model)
    gone = {node.output[0]: node.input[0] for node in readers}
    kept = [node for node in made.graph.node if node.output[0] not in gone]
    del made.graph.node[:]
    made.graph.node.extend(kept)
    for output, table in gone.items():
        row = np.ascontiguousarray(numpy_helper.to_array(tables[table])[0])
        made.graph.initializer.append(numpy_helper.from_array(row, output))
    return made


def _forget_shapes(graph: GraphProto) -> None:
    """Keep the types of the values that are left (quantizers ask for them), not shapes that may be of other axes."""
    made = {name for node in graph.node for name in node.output}
    known = [value for value in graph.value_info if value.name in made]
    for value in known:
        value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    graph.value_info.extend(known)


def _axis(node: NodeProto) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)


def _needed(graph: GraphProto) -> list[NodeProto]:
    """The nodes that an output depends on, in their order."""
    wanted = {output.name for output in graph.output}
    needed = []
    for node in reversed(graph.node):
        if wanted & set(node.output):
            needed.append(node)
            wanted |= _read_by([node])
    return needed[::-1]


def _read_by(nodes: list[NodeProto]) -> set[str]:
    """Names that the nodes read, in the graphs inside them too."""
    whole = GraphProto(node=nodes)
    read = {name for node in all_nodes(whole) for name in node.input}
    return read | {output.name for inner in _inner(whole) for output in inner.output}


def _inner(graph: GraphProto) -> list[GraphProto]:
    return [
        inner for node in all_nodes(graph) for attribute in node.attribute for inner in (attribute.g, *attribute.graphs)
    ]
