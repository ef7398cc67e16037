"""A matrix quantized at once has ONNX Runtime's own bytes."""

from __future__ import annotations

from contextlib import nullcontext

import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization.onnx_quantizer import ONNXQuantizer

from edgeinfer_browser.quantization import dynamic
from edgeinfer_browser.quantization.matrices import initializers
from edgeinfer_browser.quantization.recipes import quantize
from edgeinfer_browser.quantization.whole_matrices import MODULE, whole_matrices
from tests.outlier_encoder import encoder
from tests.quantizable import image_classifier


def test_every_byte_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = encoder()
    weight = initializers(model)["layer0/fed0.weight"]
    values = numpy_helper.to_array(weight).copy()
    values[:, 3], values[:, 4], values[:, 5] = 0, 1e-42, 3e37
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    at_once = quantize(model, "int8-dynamic").SerializeToString(deterministic=True)
    monkeypatch.setattr(dynamic, "whole_matrices", nullcontext)
    assert at_once == quantize(model, "int8-dynamic").SerializeToString(deterministic=True)


def test_convolutions_take_onnx_runtimes_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    made = quantize(image_classifier(), "int8-dynamic")
    assert any(tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 4 for tensor in made.graph.initializer)
    monkeypatch.setattr(dynamic, "whole_matrices", nullcontext)
    assert made.SerializeToString(deterministic=True) == quantize(image_classifier(), "int8-dynamic").SerializeToString(
        deterministic=True
    )


def test_onnx_runtimes_quantizer_is_put_back_when_it_refuses() -> None:
    def refuse() -> None:
        with whole_matrices():
            assert MODULE.ONNXQuantizer is not ONNXQuantizer
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        refuse()
    assert MODULE.ONNXQuantizer is ONNXQuantizer
