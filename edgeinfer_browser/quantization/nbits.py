"""ONNX Runtime's MatMulNBits quantizer, without what its import does: it sets the root logger to print all it says."""

from __future__ import annotations

from edgeinfer_browser.packing.quiet import quiet

with quiet():
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        HQQWeightOnlyQuantConfig,
        KQuantWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
        WeightOnlyQuantConfig,
    )
    from onnxruntime.quantization.neural_compressor import gptq_quantize

__all__ = [
    "DefaultWeightOnlyQuantConfig",
    "HQQWeightOnlyQuantConfig",
    "KQuantWeightOnlyQuantConfig",
    "MatMulNBitsQuantizer",
    "WeightOnlyQuantConfig",
    "gptq_quantize",
]
