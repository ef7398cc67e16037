"""int8 and int4 weights, float activations (MatMulNBits): the smallest files, and WebGPU runs them.

Each block of ``block_size`` weights of an output channel shares a scale and a zero point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import onnx

from edgeinfer_browser.errors import UnknownNameError
from edgeinfer_browser.quantization.calibration import Feeds
from edgeinfer_browser.quantization.canonical import declare_contrib_operators
from edgeinfer_browser.quantization.embeddings import quantize_embeddings
from edgeinfer_browser.quantization.float16 import float16
from edgeinfer_browser.quantization.gptq_factor import lower_factor
from edgeinfer_browser.quantization.nbits import (
    DefaultWeightOnlyQuantConfig,
    HQQWeightOnlyQuantConfig,
    KQuantWeightOnlyQuantConfig,
    MatMulNBitsQuantizer,
    WeightOnlyQuantConfig,
    gptq_quantize,
)
from edgeinfer_browser.quantization.packages import require_package

INSTALL_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


def rtn(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    bits: int = 4,
    block_size: int = 32,
    symmetric: bool = False,
    **rest: Any,
) -> onnx.ModelProto:
    """Round to nearest, with ONNX Runtime's kernels."""
    config = DefaultWeightOnlyQuantConfig(block_size=block_size, is_symmetric=symmetric, bits=bits)
    config.accuracy_level = rest["accuracy_level"] or None
    return finished(_processed(model, keep, config), calibration, keep, **rest)


def k_quant(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    bits: int = 4,
    block_size: int = 32,
    **rest: Any,
) -> onnx.ModelProto:
    """Scale and zero point of each block by weighted least squares."""
    own = {node.name: {"bits": bits} for node in model.graph.node if node.op_type == "MatMul"}
    config = KQuantWeightOnlyQuantConfig(customized_weight_config=own)
    made = _processed(model, keep, config, block_size=block_size, accuracy_level=rest["accuracy_level"])
    return finished(made, calibration, keep, **rest)


def hqq(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    bits: int = 4,
    block_size: int = 32,
    **rest: Any,
) -> onnx.ModelProto:
    """Zero points, in float, by half-quadratic optimization (Badri & Shaji 2023).

    Raises:
        InputError: when torch, which ONNX Runtime does this with, is missing.
    """
    require_package("torch", "HQQ is fitted with torch", INSTALL_TORCH)
    config = HQQWeightOnlyQuantConfig(block_size=block_size, bits=bits)
    with warnings.catch_warnings():
        # ONNX Runtime hands torch a weight that is read-only, as all of onnx's are, and only reads it.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        made = _processed(model, keep, config)
    return finished(made, calibration, keep, **rest)


def gptq(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    bits: int = 4,
    block_size: int = 32,
    symmetric: bool = False,
    percdamp: float = 0.01,
    actorder: bool = False,
    mse: bool = False,
    **rest: Any,
) -> onnx.ModelProto:
    """Each row of a matrix rounded in turn, its error made up for by the rows to come (Frantar et al. 2022).

    Raises:
        InputError: when torch is missing; ONNX Runtime imports it to read the feeds.
    """
    require_package("torch", "ONNX Runtime's GPTQ reads feeds with torch", INSTALL_TORCH)
    wanted = [name for name, _ in constant_matmuls(model) if name not in keep]
    scheme = {"bits": bits, "group_size": block_size, "scheme": "sym" if symmetric else "asym"}
    config: dict[str, Any] = {node.name: "fp32" for node in model.graph.node} | dict.fromkeys(wanted, scheme)
    with lower_factor():
        made = gptq_quantize(
            model,
            ((feed, None) for feed in map(dict, calibration)),
            weight_config=config,
            n_samples=-1,
            percdamp=percdamp,
            actorder=actorder,
            mse=mse,
            accuracy_level=rest["accuracy_level"],
        )
    return finished(made.model, calibration, keep, **rest)


def finished(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    embeddings: str = "int8",
    activations: str = "float32",
    **_: Any,
) -> onnx.ModelProto:
    """What follows once the matrices are quantized: the embeddings, and the remaining floats where fp16 is wanted.

    Raises:
        UnknownNameError: another ``embeddings`` or ``activations``.
    """
    declare_contrib_operators(model)
    made = quantize_embeddings(model, embeddings, keep)
    if activations not in ("float32", "float16"):
        raise UnknownNameError.of("type of activations", activations, ("float32", "float16"))
    return made if activations == "float32" else float16(made, calibration, keep)


def constant_matmuls(model: onnx.ModelProto) -> Iterator[tuple[str, str]]:
    """(node, weight) of each MatMul by a constant matrix: their names."""
    matrices = {tensor.name for tensor in model.graph.initializer if len(tensor.dims) == 2}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in matrices:
            yield node.name, node.input[1]


def _processed(
    model: onnx.ModelProto, keep: Sequence[str], config: WeightOnlyQuantConfig, **options: Any
) -> onnx.ModelProto:
    quantizer = MatMulNBitsQuantizer(model, nodes_to_exclude=list(keep), algo_config=config, **options)
    quantizer.process()
    made: onnx.ModelProto = quantizer.model.model
    return made
