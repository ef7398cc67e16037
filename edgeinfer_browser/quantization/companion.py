"""AWQ by ONNX Runtime's companion tool, onnx-neural-compressor: optional, and imported only when asked for.

Its release pins numpy below 2, which it does not need: install it without its dependencies, as :data:`INSTALL` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from edgeinfer_browser.quantization.calibration import FeedReader, Feeds, of_one_length
from edgeinfer_browser.quantization.packages import require_package
from edgeinfer_browser.quantization.weight_only import constant_matmuls, finished

_NEEDS = "transformers prettytable psutil py-cpuinfo pydantic"
INSTALL = f"pip install --no-deps onnx-neural-compressor==1.0 && pip install {_NEEDS}"


def awq(
    model: onnx.ModelProto,
    calibration: Sequence[Feeds],
    keep: Sequence[str],
    *,
    bits: int = 4,
    block_size: int = 32,
    symmetric: bool = False,
    samples: int = 32,
    **rest: Any,
) -> onnx.ModelProto:
    """Channels with large activations scaled up before rounding, their activations down (Lin et al. 2023).

    Where activations cannot be scaled by the LayerNormalization or matrix before, a Mul node does it. The search wants
    calibration feeds of one length, so texts are cut to the length that leaves the most tokens; it takes minutes with
    many, and looks at the first ``samples``.

    Raises:
        InputError: when the tool is not installed.
    """
    require_package("onnx_neural_compressor", "AWQ is onnx-neural-compressor's", INSTALL)
    from onnx_neural_compressor.algorithms.weight_only.awq import (  # type: ignore[import-not-found]
        awq_quantize,
    )

    own = {
        "weight_dtype": "int",
        "weight_bits": bits,
        "weight_group_size": block_size,
        "weight_sym": symmetric,
        "accuracy_level": rest["accuracy_level"],
    }
    config = {name: dict(own) for name, _ in constant_matmuls(model) if name not in keep}
    made = awq_quantize(model, FeedReader(of_one_length(calibration[:samples])), weight_config=config)
    return finished(made, calibration, keep, **rest)
