"""Embedding tables in int8 with a scale for each row: no word pays for the largest value of another.

``Gather(int8) -> Cast -> Mul(Gather(scales))``: plain ONNX, 4 bytes a row more than one scale for the whole table.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from edgeinfer_browser.quantization.matrices import initializers, insert_before

_STEPS = 127


def quantize_rows(model: onnx.ModelProto) -> list[str]:
    """Quantize every float32 table [rows, width] that only Gather nodes read, along its rows; ``model`` is changed.

    Returns:
        Names of the tables.
    """
    made = []
    for name, tensor in initializers(model).items():
        readers = [node for node in model.graph.node if name in node.input]
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) == 2 and readers and all(map(_looks_up, readers)):
            _quantize(model, tensor, readers)
            made.append(name)
    return made


def _looks_up(node: NodeProto) -> bool:
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    return node.op_type == "Gather" and axis == 0


def _quantize(model: onnx.ModelProto, tensor: TensorProto, readers: list[NodeProto]) -> None:
    table = numpy_helper.to_array(tensor)
    scales = np.abs(table).max(axis=1, keepdims=True) / np.float32(_STEPS)
    steps = np.round(table / np.where(scales > 0, scales, 1)).astype(np.int8)
    name = tensor.name
    model.graph.initializer.remove(tensor)
    model.graph.initializer.extend(
        [numpy_helper.from_array(steps, f"{name}/int8"), numpy_helper.from_array(scales, f"{name}/scales")]
    )
    for reader in readers:
        _look_up(model, reader, name)


def _look_up(model: onnx.ModelProto, reader: NodeProto, table: str) -> None:
    out, rows = reader.output[0], reader.input[1]
    nodes = [
        helper.make_node("Gather", [f"{table}/int8", rows], [f"{out}/int8"], f"{reader.name}/int8"),
        helper.make_node("Gather", [f"{table}/scales", rows], [f"{out}/scale"], f"{reader.name}/scales"),
        helper.make_node("Cast", [f"{out}/int8"], [f"{out}/steps"], f"{reader.name}/Cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{out}/steps", f"{out}/scale"], [out], f"{reader.name}/Mul"),
    ]
    insert_before(model, reader.name, nodes)
    model.graph.node.remove(reader)
