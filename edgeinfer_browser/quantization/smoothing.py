"""Activation smoothing: make the channels that a matrix reads alike, so that one scale fits them all.

int8 activations share one scale per tensor, and a few channels that are ten times larger than the others take all of
its steps. ``x @ W = (x / s) @ (s * W)`` moves their size into the weights, which have a scale for each column.
Source: SmoothQuant, Xiao et al. 2022, equation 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

from edgeinfer_browser.quantization.matrices import (
    Floats,
    Matrix,
    initializers,
    insert_before,
    node_named,
    set_values,
)

#: Normalisation -> where its inputs gamma and beta are; its first output is ``normalised * gamma + beta``.
_NORMALIZATIONS = {"LayerNormalization": (1, 2), "SkipLayerNormalization": (2, 3)}
#: Channels and rows below this share of the median count as this: dead ones need no scale of their own.
_FLOOR = 1e-2


def smoothing_scale(magnitudes: Floats, weights: Sequence[Floats], strength: float) -> Floats:
    """``s = max|x|^strength / max|W|^(1 - strength)`` of each channel, with a geometric mean of 1; float32 [channels].

    Args:
        magnitudes: the largest ``|x|`` of each channel, [channels].
        weights: of the matrices that read it, each [channels, columns].
        strength: 0 leaves the activations alone, 1 makes all channels equally large.
    """
    rows = np.max([np.abs(weight).max(axis=1) for weight in weights], axis=0)
    scale = _floored(magnitudes) ** strength / _floored(rows) ** (1 - strength)
    made: Floats = (scale / np.exp(np.log(scale).mean())).astype(np.float32)
    return made


def scale_channels(model: onnx.ModelProto, matrices: Sequence[Matrix], inverse: Floats) -> None:
    """Multiply what ``matrices`` read by ``inverse`` and divide their rows by it; where it is 0 both become 0.

    The multiplication goes into the gamma and beta of a normalisation when nothing else reads that, which costs
    nothing; else it is a Mul of its own.

    Args:
        model: changed.
        matrices: all that read one tensor.
        inverse: [rows of each matrix].
    """
    tensors = initializers(model)
    rows = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse != 0)
    for matrix in matrices:
        weight = tensors[matrix.weight]
        set_values(weight, (numpy_helper.to_array(weight) * rows[:, None]).astype(np.float32))
    producer = _foldable(model, matrices)
    if producer is None:
        _multiply(model, matrices, inverse)
        return
    for name in _gamma_and_beta(producer):
        set_values(tensors[name], numpy_helper.to_array(tensors[name]) * inverse)


def _floored(values: Floats) -> Floats:
    least = max(float(np.median(values)) * _FLOOR, float(np.finfo(np.float32).tiny))
    made: Floats = np.maximum(values, least)
    return made


def _foldable(model: onnx.ModelProto, matrices: Sequence[Matrix]) -> NodeProto | None:
    """The normalisation that feeds these matrices and nothing else, with gamma and beta of its own."""
    name, graph = matrices[0].input, model.graph
    producer = next((node for node in graph.node if node.output and node.output[0] == name), None)
    if producer is None or producer.op_type not in _NORMALIZATIONS:
        return None
    reads = Counter(each for node in graph.node for each in node.input)
    reads.update(output.name for output in graph.output)
    own = all(each in initializers(model) and reads[each] == 1 for each in _gamma_and_beta(producer))
    return producer if own and reads[name] == len(matrices) else None


def _gamma_and_beta(node: NodeProto) -> list[str]:
    return [
        node.input[place] for place in _NORMALIZATIONS[node.op_type] if place < len(node.input) and node.input[place]
    ]


def _multiply(model: onnx.ModelProto, matrices: Sequence[Matrix], inverse: Floats) -> None:
    name = f"{matrices[0].input}/smoothed"
    model.graph.initializer.append(numpy_helper.from_array(inverse.astype(np.float32), f"{name}/scale"))
    node = helper.make_node("Mul", [matrices[0].input, f"{name}/scale"], [name], name=name)
    readers = {matrix.node for matrix in matrices}
    first = next(node.name for node in model.graph.node if node.name in readers)
    insert_before(model, first, [node])
    for matrix in matrices:
        node_named(model, matrix.node).input[0] = name
