"""The dtypes that the sentiment model's encoder comes in, and how a model's files are written."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.float16 import convert_float_to_float16

EXTERNAL_FROM = 1024  # bytes; below that, a place in the data file costs more than it saves
_INLINE_TYPES = (TensorProto.INT32, TensorProto.INT64)  # shapes and axes: ONNX Runtime reads them while loading


def float32(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy, so that every variant is the caller's own."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def float16(model: onnx.ModelProto) -> onnx.ModelProto:
    """Half the bytes, and the output in float16 too."""
    converted = convert_float_to_float16(float32(model))
    assert isinstance(converted, onnx.ModelProto)
    return converted


def quantized(model: onnx.ModelProto) -> onnx.ModelProto:
    """Dynamic int8: matrices per output channel (per tensor loses too much), embeddings per table."""
    logging.getLogger().setLevel(logging.ERROR)  # it advises a pre-processing that changes nothing here
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        quantize_dynamic(
            float32(model),
            path,
            op_types_to_quantize=["MatMul", "Gather"],
            per_channel=True,
            weight_type=QuantType.QInt8,
        )
        return onnx.load(str(path))


VARIANTS: dict[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "model": float32,
    "model_fp16": float16,
    "model_quantized": quantized,
}


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write ``path`` and, beside it, one ``<name>.onnx_data`` with the weights.

    Loaded from such a file, a model takes its own size of memory once; all in one file, two to three times.
    """
    data = path.with_suffix(".onnx_data")
    data.unlink(missing_ok=True)  # onnx appends to a data file that exists
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.nbytes < EXTERNAL_FROM or tensor.data_type in _INLINE_TYPES:
            continue
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))  # only raw_data can move out
        onnx.external_data_helper.set_external_data(tensor, data.name)
    onnx.save_model(model, str(path))
    data.chmod(path.stat().st_mode)  # onnx makes it readable by its owner only
