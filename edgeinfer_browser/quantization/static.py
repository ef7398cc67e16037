"""int8 weights and activations scaled once, by calibration (``quantize_static``, QDQ format)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static

from edgeinfer_browser.errors import UnknownNameError
from edgeinfer_browser.quantization.calibration import FeedReader, Feeds
from edgeinfer_browser.quantization.embeddings import quantize_embeddings

#: How the range of an activation is found.
RANGES = {
    "minmax": CalibrationMethod.MinMax,
    "entropy": CalibrationMethod.Entropy,
    "percentile": CalibrationMethod.Percentile,
}
ACTIVATION_TYPES = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8, "uint16": QuantType.QUInt16}


def int8_static(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    ranges: str = "minmax",
    percentile: float = 99.999,
    per_channel: bool = True,
    op_types: Sequence[str] = ("MatMul", "Conv"),
    embeddings: str = "int8",
    activation_type: str = "uint8",
    **_: Any,
) -> onnx.ModelProto:
    """Constants of matrices and convolutions int8; their inputs are rounded by scales that calibration found.

    Args:
        model: float32.
        calibration: feeds; each may have its own shape.
        keep: names of nodes that stay float32.
        ranges: a name of :data:`RANGES`.
        percentile: how much of the values lies within the range (``ranges="percentile"``).
        per_channel: one scale for each output channel of a constant.
        op_types: what is quantized. LayerNormalization, Softmax and sums are not: their ranges are far apart.
        embeddings: ``int8``, ``int4`` or ``float32``.
        activation_type: a name of :data:`ACTIVATION_TYPES`.

    Raises:
        UnknownNameError: a name outside these lists.
    """
    if ranges not in RANGES:
        raise UnknownNameError.of("way to find ranges", ranges, RANGES)
    if activation_type not in ACTIVATION_TYPES:
        raise UnknownNameError.of("activation type", activation_type, ACTIVATION_TYPES)
    options: dict[str, Any] = {"CalibStridedMinMax": 1, "MatMulConstBOnly": True, "CalibPercentile": percentile}
    if ranges != "percentile":
        del options["CalibPercentile"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        quantize_static(
            model,
            path,
            FeedReader(calibration),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=list(op_types),
            per_channel=per_channel,
            activation_type=ACTIVATION_TYPES[activation_type],
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(keep),
            calibrate_method=RANGES[ranges],
            extra_options=options | {"OpTypesToExcludeOutputQuantization": list(op_types)},
        )
        return quantize_embeddings(onnx.load(str(path)), embeddings, keep)
