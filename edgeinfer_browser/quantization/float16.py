"""16-bit floats (``onnxruntime.transformers.float16``): half the bytes; fast where WebGPU has shader-f16.

The largest 16-bit float is 65504. What goes beyond it, in the weights or in what samples make of them, stays float32
from the node that makes it to the nodes that read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, numpy_helper
from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST
from onnxruntime.transformers.onnx_model import OnnxModel

from edgeinfer_browser.packing.images import preprocessing_nodes
from edgeinfer_browser.packing.native import open_session
from edgeinfer_browser.quantization.calibration import Feeds

#: The largest finite 16-bit float.
LARGEST = 65504.0
#: From here on a value stands for infinity (attention masks are filled with it), and -65504 serves as well.
FILL = 1e30


def float16(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    keep_op_types: Sequence[str] = (),
    **_: Any,
) -> onnx.ModelProto:
    """Weights and activations float16; inputs and outputs stay float32, and so does what would overflow.

    Args:
        model: float32.
        calibration: feeds to find overflowing activations with; without any, only weights are looked at.
        keep: names of nodes that stay float32.
        keep_op_types: operators that stay float32, beside those which ONNX Runtime has no 16-bit kernels for.
    """
    values = overflows(model, calibration)
    near = [node.name for node in model.graph.node if values.keys() & {*node.input, *node.output}]
    converted = OnnxModel(model)
    converted.convert_float_to_float16(
        keep_io_types=True,
        op_block_list=[*DEFAULT_OP_BLOCK_LIST, *keep_op_types],
        node_block_list=[*keep, *near, *preprocessing_nodes(model)],
    )
    made: onnx.ModelProto = converted.model
    return made


def overflows(model: onnx.ModelProto, feeds: Sequence[Feeds] = ()) -> dict[str, float]:
    """Values that 16 bits do not hold: name of the weight or activation -> its largest magnitude.

    Args:
        model: float32 weights (other tensors are not looked at).
        feeds: what activations are looked at on; one run each, with every float value of the graph as an output.
    """
    found = {name: largest for name, array in _weights(model) if (largest := _largest(array)) > LARGEST}
    if feeds:
        found |= _activations(model, feeds)
    return found


def overflow_warnings(model: onnx.ModelProto, feeds: Sequence[Feeds] = ()) -> list[str]:
    """What to tell the user about values that 16 bits do not hold; empty when all is well."""
    return [
        f"{name} reaches {largest:.3g}, beyond float16's {LARGEST:.0f}: its nodes stay float32."
        for name, largest in sorted(overflows(model, feeds).items())
    ]


def _weights(model: onnx.ModelProto) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            yield tensor.name, numpy_helper.to_array(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.t.data_type == TensorProto.FLOAT:
                yield node.output[0], numpy_helper.to_array(attribute.t)


def _largest(array: npt.NDArray[Any]) -> float:
    """The largest magnitude below :data:`FILL`."""
    magnitudes = np.abs(array[np.isfinite(array)])
    return float(magnitudes[magnitudes < FILL].max(initial=0.0))


def _activations(model: onnx.ModelProto, feeds: Sequence[Feeds]) -> dict[str, float]:
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    outputs = {output.name for output in seen.graph.output}
    made = [name for node in seen.graph.node for name in node.output if name and name not in outputs]
    seen.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made)
    session = open_session(seen)
    names = [output.name for output in session.get_outputs() if output.type == "tensor(float)"]
    found: dict[str, float] = {}
    for feed in feeds:
        for name, value in zip(names, session.run(names, dict(feed)), strict=True):
            if (largest := _largest(value)) > max(LARGEST, found.get(name, 0.0)):
                found[name] = largest
    return found
