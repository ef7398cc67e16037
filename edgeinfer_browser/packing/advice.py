"""Which file for which tier, and why: written into edgeinfer.json by ``pack``, printed by ``pack`` and ``evaluate``.

The order is :data:`edgeinfer_browser.policy.DTYPES_BY_TIER`'s, so the advice says what a page does by default, and it
is held against the measured agreement: a file whose answers stray too far from fp32's is not advised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """What edgeinfer.json alone does not say, by dtype. All of it may be left out."""

    #: dtype -> op type -> nodes that compute on int64 values and have no WebGPU kernel for it.
    int64_nodes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: dtype -> samples or texts whose answer has a NaN or an infinity.
    not_finite: Mapping[str, int] = field(default_factory=dict)


def advise(manifest: Mapping[str, Any], facts: Facts | None = None) -> dict[str, Any]:
    """Advice for a packed model.

    Args:
        manifest: edgeinfer.json, with ``variants`` (files, features, agreement) and ``parameters`` if known.
        facts: what was seen in the graphs and on the samples.

    Returns:
        ``files``: [{tier, dtype, needs: [WebGPU feature], why}], best first for each tier;
        ``common``: {dtype, why}, the one file for every tier where sameness matters more than speed (or None);
        ``not_advised``: [{tier, dtype, why}];
        ``precision``: {advised, why}, by the number of parameters (or None);
        ``warnings``: [{what, why, do}], texts.
    """
    raise NotImplementedError
