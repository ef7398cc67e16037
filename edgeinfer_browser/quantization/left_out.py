"""The constant matrices that a search does not choose for, and why: what its log has to say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import onnx
from onnx import NodeProto, TensorProto

from edgeinfer_browser.quantization.matrices import Matrix, initializers, multiplied

#: Operator that multiplies by a constant matrix of its own -> which of its inputs that is, and what becomes of it.
_OTHERS = {
    "Attention": (1, "a fused Attention packs queries, keys and values into one matrix, which stays float32"),
    "Gemm": (1, "a Gemm with alpha, beta or a transposed input is no plain product, and stays float32"),
}


def left_out(model: onnx.ModelProto, found: dict[str, Matrix]) -> list[str]:
    """A sentence for each constant float32 matrix that is not among ``found``.

    Args:
        model: as :func:`edgeinfer_browser.quantization.matrices.with_matmuls` gives it.
        found: what :func:`edgeinfer_browser.quantization.matrices.find_matrices` found in it, by digest.
    """
    taken = {matrix.weight for matrix in found.values()}
    told = {weight: why for weight, why in _reasons(model) if weight not in taken}
    dims = {name: "x".join(map(str, tensor.dims)) for name, tensor in initializers(model).items()}
    return [f"{weight} ({dims[weight]}) is left out of the search: {why}." for weight, why in told.items()]


def _reasons(model: onnx.ModelProto) -> Iterator[tuple[str, str]]:
    tensors = initializers(model)
    read = Counter(name for node in model.graph.node for name in node.input)
    for node in model.graph.node:
        if multiplied(node, tensors):
            shared = read[node.input[1]] > 1
            why = f"{read[node.input[1]]} nodes read it" if shared else "another matrix has the same values"
            yield node.input[1], f"{why}, and what is changed for one would be wrong for another; it is plain int8"
        elif node.op_type in _OTHERS:
            place, why = _OTHERS[node.op_type]
            if _is_matrix(node, place, tensors):
                yield node.input[place], why


def _is_matrix(node: NodeProto, place: int, tensors: dict[str, TensorProto]) -> bool:
    tensor = tensors.get(node.input[place])
    return tensor is not None and tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2
