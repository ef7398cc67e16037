"""A fault of ONNX Runtime's GPTQ (1.32, and of the companion tools it comes from), set right while it runs.

GPTQ passes the error of a rounded row i on to the rows j > i by the factor U[i, j] of the inverse Hessian U'U. ONNX
Runtime makes the upper factor U and then reads U[j, i], which is zero: nothing is passed on, and what it gives is round
to nearest. Given the lower factor, U', it reads what it means to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from onnxruntime.quantization.neural_compressor import weight_only


@contextmanager
def lower_factor() -> Iterator[None]:
    """In this block ONNX Runtime's GPTQ works with the lower Cholesky factor.

    It transposes what numpy gives it, so numpy gives it the transposed factor. The diagonal, which it divides by, is
    the same in both.
    """
    whole = weight_only.np
    linear = SimpleNamespace(**{**vars(np.linalg), "cholesky": _transposed_cholesky})
    weight_only.np = SimpleNamespace(**{**vars(np), "linalg": linear})
    try:
        yield
    finally:
        weight_only.np = whole


def _transposed_cholesky(matrix: Any) -> Any:
    return np.linalg.cholesky(matrix).T
