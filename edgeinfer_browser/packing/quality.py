"""Whether a variant's answers stay near enough to fp32's for it to be advised, by what was measured.

What ``edgeinfer evaluate`` measured on texts decides. Without it the golden samples do: they are few, so they show
what is far off and prove nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from edgeinfer_browser.manifest import EMBEDDING

#: Worst cosine of an embedding to fp32's, or share of texts with the same label, below which a file is not advised.
QUALITY_FLOOR = 0.95
#: How far golden logits may be from fp32's, as a share of the largest. Plain int8 of MiniLM is at 0.04, fp16 below
#: 0.005; int8-dynamic of a convolutional network (open_nsfw) at 0.20.
GOLDEN_LOGITS = 0.1


def embeds(manifest: Mapping[str, Any]) -> bool:
    """Whether the model's answer is an embedding (perhaps beside logits), so that cosines judge it."""
    return any(not output["name"].endswith("logits") for output in manifest["outputs"])


def quality_reason(manifest: Mapping[str, Any], dtype: str) -> str | None:
    """Why a variant is not advised for its answers; None when it may be.

    Embeddings by their worst cosine; a classifier by its labels, since two logits of a near tie may swap signs.
    """
    agreement = manifest["variants"][dtype].get("agreement", {})
    if "texts" not in agreement:
        return _golden_reason(manifest, dtype)
    worst, same = agreement.get("worst_cosine"), agreement.get("same_label")
    if worst is not None and worst < QUALITY_FLOOR and embeds(manifest):
        return f"its worst cosine to fp32 is {worst:.4f}, below {QUALITY_FLOOR}, on {agreement['texts']} texts"
    if same is not None and same < QUALITY_FLOOR:
        return f"it gives the label of fp32 to {same:.1%} of {agreement['texts']} texts, below {QUALITY_FLOOR:.0%}"
    return None


def quality_told(manifest: Mapping[str, Any], dtype: str) -> str:
    """What was measured of a variant's answers, in a few words."""
    if dtype == "fp32":
        return "the reference itself"
    agreement = manifest["variants"][dtype].get("agreement", {})
    if "texts" not in agreement:
        return _golden_told(manifest, dtype)
    parts = []
    if embeds(manifest) and agreement.get("worst_cosine") is not None:
        parts.append(f"worst cosine to fp32 {agreement['worst_cosine']:.4f}")
    if agreement.get("same_label") is not None:
        parts.append(f"same label as fp32 for {agreement['same_label']:.1%}")
    return f"{', '.join(parts)} on {agreement['texts']} texts"


def golden_logits_apart(manifest: Mapping[str, Any], dtype: str) -> float | None:
    """A classifier's largest difference to fp32 on the golden samples, as a share of its largest logit there."""
    entry = manifest["variants"][dtype]
    largest = max((np.abs(row).max(initial=0.0) for row in _golden(entry, "logits")), default=0.0)
    return None if embeds(manifest) or not largest else float(entry["agreement"]["max_abs_difference"] / largest)


def worst_golden_cosine(manifest: Mapping[str, Any], dtype: str) -> float | None:
    """The worst cosine of a golden embedding to fp32's; None where one of the two has no golden answers."""
    variants = manifest["variants"]
    pairs = zip(_golden(variants.get("fp32", {}), EMBEDDING), _golden(variants[dtype], EMBEDDING), strict=False)
    cosines = [float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other) or 1.0)) for one, other in pairs]
    return min(cosines, default=None)


def _golden(entry: Mapping[str, Any], ending: str) -> list[np.ndarray[Any, Any]]:
    return [
        np.asarray(tensor["data"], np.float64)
        for outputs in entry.get("golden", ())
        for name, tensor in outputs.items()
        if name.endswith(ending)
    ]


def _golden_reason(manifest: Mapping[str, Any], dtype: str) -> str | None:
    cosine, apart = worst_golden_cosine(manifest, dtype), golden_logits_apart(manifest, dtype)
    if cosine is not None and cosine < QUALITY_FLOOR:
        return f"its worst cosine to fp32 is {cosine:.4f}, below {QUALITY_FLOOR}, on the golden samples"
    if apart is not None and apart > GOLDEN_LOGITS:
        return f"its logits are up to {apart:.0%} of the largest away from fp32's on the golden samples"
    return None


def _golden_told(manifest: Mapping[str, Any], dtype: str) -> str:
    cosine, apart = worst_golden_cosine(manifest, dtype), golden_logits_apart(manifest, dtype)
    if cosine is not None:
        return f"worst cosine to fp32 {cosine:.4f} on the golden samples, and not measured on texts"
    if apart is not None:
        return f"logits within {apart:.1%} of the largest of fp32's on the golden samples, and not measured on others"
    return "its quality was not measured"
