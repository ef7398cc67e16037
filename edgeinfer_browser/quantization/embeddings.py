"""Embedding tables: often half of a small model's weights, and no matrix quantizer touches them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from edgeinfer_browser.errors import UnknownNameError
from edgeinfer_browser.quantization.dynamic import int8_dynamic
from edgeinfer_browser.quantization.nbits import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

PRECISIONS = ("float32", "int8", "int4")
#: Values of a row that share a scale, in 4 bits.
BLOCK = 32


def quantize_embeddings(model: onnx.ModelProto, precision: str, keep: Sequence[str]) -> onnx.ModelProto:
    """The tables that Gather nodes look up, in ``precision``.

    ``int8`` has one scale for each table (Gather, then DequantizeLinear); ``int4`` one for each 32 values
    (GatherBlockQuantized, which needs opset 21).

    Args:
        model: may be quantized already, other than in its tables; changed.
        precision: one of :data:`PRECISIONS`.
        keep: names of nodes that stay float32.

    Raises:
        UnknownNameError: another precision.
    """
    if precision not in PRECISIONS:
        raise UnknownNameError.of("precision of embeddings", precision, PRECISIONS)
    if precision == "float32" or not any(node.op_type == "Gather" for node in model.graph.node):
        return model
    if precision == "int8":
        return int8_dynamic(model, (), keep, per_channel=False, op_types=("Gather",))
    config = DefaultWeightOnlyQuantConfig(block_size=BLOCK, op_types_to_quantize=("Gather",), bits=4)
    quantizer = MatMulNBitsQuantizer(model, nodes_to_exclude=list(keep), algo_config=config)
    quantizer.process()
    made: onnx.ModelProto = quantizer.model.model
    return made
