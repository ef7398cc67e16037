"""How far answers are apart, and how far they may be: absolute, and as a share of the output's size.

Outputs differ in size by a hundred times: a coordinate of an embedding is about 0.05, a logit about 5. So what may
differ is said as a share of the largest absolute value that the output has on the golden samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeinfer_browser.errors import GraphError

Answers = Sequence[Mapping[str, npt.NDArray[Any]]]

#: dtype -> share of the output's largest value by which another runtime's or machine's answer may differ. float32
#: differs by the order of its sums, fp16 by where a runtime computes in 32 bits; int8 kernels round activations
#: differently on each instruction set, and a rounding step is about a hundredth of the range.
TOLERANCES = {"fp32": 0.002, "fp16": 0.02, "q8": 0.05, "q4": 0.05, "q4f16": 0.05}
#: How often the difference between native and browser that was measured must fit into the tolerance.
_ROOM = 3


def largest_difference(left: Answers, right: Answers) -> float:
    """The largest absolute difference of any element of any output."""
    return max((difference for difference, _ in _pairs(left, right)), default=0.0)


def largest_share(left: Answers, right: Answers) -> float:
    """The same as a share of the largest absolute value of that output in ``left``."""
    return max((difference / scale for difference, scale in _pairs(left, right) if difference), default=0.0)


def tolerance(dtype: str, web_share: float) -> float:
    """What edgeinfer.json allows a tier: the dtype's share, or three times what was measured in the browser."""
    return float(f"{max(TOLERANCES[dtype], _ROOM * web_share):.3g}")


def require_finite_answers(answers: Answers, what: str) -> None:
    """Refuse a model whose answers are no numbers.

    Raises:
        GraphError: says which output and which sample.
    """
    for number, outputs in enumerate(answers):
        for name, values in outputs.items():
            if not np.isfinite(values).all():
                raise GraphError(
                    f"{what} answers golden sample {number} with NaN or infinity in {name!r}: an overflow, or weights "
                    "that are damaged. Leave that variant out (--dtypes), or make it another way.",
                    output=name,
                    sample=number,
                )


def _pairs(left: Answers, right: Answers) -> list[tuple[float, float]]:
    """(largest difference, largest value on the left) for each output."""
    if not left or not right:
        return []
    return [
        (
            max(_difference(one[name], other[name]) for one, other in zip(left, right, strict=False)),
            max(float(np.abs(one[name]).max(initial=0.0)) for one in left) or 1.0,
        )
        for name in left[0]
    ]


def _difference(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    if one.shape != other.shape:
        return float("inf")
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))
