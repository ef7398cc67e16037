"""The constant matrices of a graph: where most of the weights are, and where most of the time goes.

A matrix is known by the digest of its values, not by a name: names change when a graph is simplified or exported again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, numpy_helper
from onnxruntime.quantization.onnx_model import ONNXModel

from edgeinfer_browser.quantization.canonical import named_copy

Floats = npt.NDArray[np.float32]
#: The matrices that read one tensor, and so see the same channels.
Readers = tuple["Matrix", ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """``output = input [..., rows] @ weight [rows, columns]``."""

    node: str
    weight: str
    input: str
    output: str
    rows: int
    columns: int
    #: 16 hex digits of the sha256 of its values.
    digest: str


def with_matmuls(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with a name for every node, and a MatMul and an Add for every Gemm that is no more than that."""
    made = named_copy(model)
    ONNXModel(made).replace_gemm_with_matmul()
    return named_copy(made)


def find_matrices(model: onnx.ModelProto) -> list[Matrix]:
    """The float32 matrices that one MatMul each multiplies by, in the graph's order.

    A weight that several nodes read, or that is there twice, is left out: changed for one it would be wrong for others.
    """
    tensors = initializers(model)
    read = Counter(name for node in model.graph.node for name in node.input)
    found = [_matrix(node, tensors[node.input[1]]) for node in model.graph.node if multiplied(node, tensors)]
    copies = Counter(matrix.digest for matrix in found)
    return [matrix for matrix in found if read[matrix.weight] == 1 and copies[matrix.digest] == 1]


def by_input(matrices: Iterable[Matrix]) -> list[Readers]:
    """The matrices that read the same tensor, together."""
    groups: dict[str, list[Matrix]] = {}
    for matrix in matrices:
        groups.setdefault(matrix.input, []).append(matrix)
    return [tuple(group) for group in groups.values()]


def by_role(groups: Iterable[Readers]) -> dict[str, list[Readers]]:
    """Groups that do the same work in different layers, by the shapes of their matrices.

    The key is for people: ``3 of 384x384`` (queries, keys and values), ``1536x384`` (what follows the activation).
    """
    roles: dict[str, list[Readers]] = {}
    for group in groups:
        shapes = Counter(f"{matrix.rows}x{matrix.columns}" for matrix in group)
        words = [shape if count == 1 else f"{count} of {shape}" for shape, count in shapes.items()]
        roles.setdefault(", ".join(words), []).append(group)
    return roles


def initializers(model: onnx.ModelProto) -> dict[str, TensorProto]:
    """The constant tensors of the graph by name."""
    return {tensor.name: tensor for tensor in model.graph.initializer}


def multiplied(node: NodeProto, tensors: Mapping[str, TensorProto]) -> bool:
    """Whether the node is a MatMul by a constant float32 matrix, its second input."""
    if node.op_type != "MatMul" or node.input[1] not in tensors:
        return False
    weight = tensors[node.input[1]]
    return weight.data_type == TensorProto.FLOAT and len(weight.dims) == 2


def node_named(model: onnx.ModelProto, name: str) -> NodeProto:
    """The node of that name."""
    found: NodeProto = next(node for node in model.graph.node if node.name == name)
    return found


def set_values(tensor: TensorProto, values: npt.NDArray[Any]) -> None:
    """Put other values into an initializer that keeps its name."""
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), tensor.name))


def insert_before(model: onnx.ModelProto, name: str, nodes: Sequence[NodeProto]) -> None:
    """Put nodes where the node ``name`` is, which moves behind them."""
    at = next(index for index, node in enumerate(model.graph.node) if node.name == name)
    for offset, node in enumerate(nodes):
        model.graph.node.insert(at + offset, node)


def _matrix(node: NodeProto, tensor: TensorProto) -> Matrix:
    values = np.ascontiguousarray(numpy_helper.to_array(tensor), np.float32)
    digest = hashlib.sha256(values.tobytes()).hexdigest()[:16]
    rows, columns = values.shape
    return Matrix(node.name, tensor.name, node.input[0], node.output[0], rows, columns, digest)
