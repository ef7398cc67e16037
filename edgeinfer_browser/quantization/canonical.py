"""The same model however a quantizer got there: every node has a name, tensors and nodes have one order."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnxruntime.quantization.onnx_model import ONNXModel


def named_copy(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which every node has a name of its own: quantizers know nodes by it.

    A node that has none, or another's, is named after its first output.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    seen: set[str] = set()
    for node in copy.graph.node:
        if not node.name or node.name in seen:
            node.name = f"{node.op_type}:{node.output[0]}"
        seen.add(node.name)
    return copy


def gemms_as_matmuls(model: onnx.ModelProto, keep: Sequence[str]) -> list[str]:
    """Make each Gemm a MatMul and an Add, which is what integer quantizers know; gives the names to keep instead."""
    gemms = {node.name for node in model.graph.node if node.op_type == "Gemm"}
    ONNXModel(model).replace_gemm_with_matmul()
    left = {node.name for node in model.graph.node}
    return [name if name in left else f"{name}_MatMul" for name in keep if name in left or name in gemms]


def declare_contrib_operators(model: onnx.ModelProto) -> None:
    """Import ``com.microsoft``: some quantizers use its operators and do not say so."""
    ONNXModel(model).set_opset_import("com.microsoft", 1)


def canonical(made: onnx.ModelProto, source: onnx.ModelProto) -> onnx.ModelProto:
    """What a quantizer made, with nodes and initializers in an order of their names, and the source's own metadata.

    Some quantizers go through sets of names, whose order changes from process to process.
    """
    nodes = sorted(made.graph.node, key=lambda node: (node.name, list(node.output)))
    tensors = sorted(made.graph.initializer, key=lambda tensor: tensor.name)
    del made.graph.node[:], made.graph.initializer[:], made.graph.value_info[:], made.metadata_props[:]
    made.graph.node.extend(nodes)
    made.graph.initializer.extend(tensors)
    made.metadata_props.extend(source.metadata_props)
    made.producer_name, made.producer_version = source.producer_name, source.producer_version
    ONNXModel(made).topological_sort()
    return made
