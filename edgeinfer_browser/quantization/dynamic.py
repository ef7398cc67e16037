"""int8 weights, and activations that are scaled in each run (``quantize_dynamic``): the file for WASM."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic

from edgeinfer_browser.quantization.calibration import Feeds
from edgeinfer_browser.quantization.whole_matrices import whole_matrices


def int8_dynamic(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    per_channel: bool = True,
    op_types: Sequence[str] = ("MatMul", "Gather", "Conv"),
    **_: Any,
) -> onnx.ModelProto:
    """Matrices and convolutions of constants become integer ones, embeddings int8 tables (one scale a table).

    Args:
        model: float32.
        calibration: not needed.
        keep: names of nodes that stay float32.
        per_channel: one scale for each output channel of a matrix; one for all costs much quality.
        op_types: what is quantized.
    """
    with tempfile.TemporaryDirectory() as folder, whole_matrices():
        path = Path(folder) / "model.onnx"
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=list(op_types),
            per_channel=per_channel,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(keep),
            # onnx infers no types past com.microsoft operators, such as a fused attention.
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        return onnx.load(str(path))
