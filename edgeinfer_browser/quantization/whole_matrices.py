"""ONNX Runtime's per-channel quantizer, a whole matrix at a time: the same bytes in a fifth of the time.

`quantize_dynamic` goes through a matrix column by column in Python. A search quantizes a model some forty times, so
here ONNX Runtime's own arithmetic for blocks is given the matrix at once: a column is a block as long as the matrix.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import onnx
from onnx import helper, numpy_helper
from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer
from onnxruntime.quantization.quant_utils import compute_scale_zp_blocked, quantize_nparray

INT8 = onnx.TensorProto.INT8
#: By name: `onnxruntime.quantization.quantize` is also a function, which hides the module.
MODULE: Any = importlib.import_module("onnxruntime.quantization.quantize")


@contextmanager
def whole_matrices() -> Iterator[None]:
    """In this block ``quantize_dynamic`` quantizes int8 matrices, per column, at once."""
    usual = MODULE.ONNXQuantizer
    MODULE.ONNXQuantizer = _WholeMatrices
    try:
        yield
    finally:
        MODULE.ONNXQuantizer = usual


class _WholeMatrices(ONNXQuantizer):  # type: ignore[misc]  # onnxruntime has no types
    def quantize_weight_per_channel_impl(
        self, weight_name: str, weight_qType: int, channel_axis: int, *rest: Any, **named: Any
    ) -> tuple[str, str, str]:
        """Names of the int8 matrix, its zero points and its scales; all else than a float32 matrix takes the usual way.

        The names of the arguments are ONNX Runtime's.
        """
        weight = next(each for each in self.model.initializer() if each.name == weight_name)
        last = len(weight.dims) - 1
        matrix = weight.data_type == onnx.TensorProto.FLOAT and last == 1 and channel_axis in (-1, last)
        if not matrix or weight_qType != INT8 or self.reduce_range or self.tensor_quant_overrides:
            names: tuple[str, str, str] = super().quantize_weight_per_channel_impl(
                weight_name, weight_qType, channel_axis, *rest, **named
            )
            return names
        made = _int8(weight)
        self.model.initializer_extend(made)
        return made[0].name, made[2].name, made[1].name


def _int8(weight: onnx.TensorProto) -> list[onnx.TensorProto]:
    """The matrix [rows, columns], its scales [columns] and its zero points [columns], named as ONNX Runtime does."""
    values = numpy_helper.to_array(weight)
    zeros, scales = compute_scale_zp_blocked(values, INT8, axis=0, block_size=max(len(values), 1), symmetric=True)
    whole = quantize_nparray(INT8, values, scales, zeros)
    columns, name = whole.shape[1], weight.name
    return [
        numpy_helper.from_array(whole, f"{name}_quantized"),
        helper.make_tensor(f"{name}_scale", weight.data_type, [columns], scales[0].tolist()),
        helper.make_tensor(f"{name}_zero_point", INT8, [columns], zeros[0].tolist()),
    ]
