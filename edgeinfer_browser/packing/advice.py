"""Which file for which tier, and why: written into edgeinfer.json by ``pack``, printed by ``pack`` and ``evaluate``.

The order is :data:`edgeinfer_browser.policy.DTYPES_BY_TIER`'s, so the advice says what a page does by default, and it
is held against the measured agreement: a file whose answers stray too far from fp32's is not advised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeinfer_browser.packing.advice_warnings import (
    API_FROM,
    FIRST_VISIT_BYTES,
    INT4_FROM,
    Facts,
    size_of,
    unfit_reason,
    warnings_about,
)
from edgeinfer_browser.packing.quality import embeds, quality_told
from edgeinfer_browser.policy import DTYPES_BY_TIER

__all__ = ["Facts", "advise", "describe"]

#: Tiers that load a file, in the order in which a page considers them.
TIERS = ("webgpu", "wasm", "native")

_WHY = {
    ("webgpu", "fp16"): "half of fp32's bytes, and float kernels that a GPU with shader-f16 runs fastest",
    ("webgpu", "q4f16"): "the smallest file for a GPU with shader-f16: weights are unpacked on the device",
    ("webgpu", "fp32"): "every WebGPU device has float32 kernels for it; int8 has none and would hop to the CPU",
    ("webgpu", "q4"): "weights only: they are unpacked on the device, where int8 products have no kernel",
    ("webgpu", "q8"): "there is no other; integer products have no WebGPU kernel, so each one hops to the CPU and back",
    ("wasm", "q8"): "integer products are what WASM's SIMD is fastest at, at a quarter of fp32's bytes",
    ("wasm", "q4"): "weights only: smaller than fp32, and no faster, since WASM computes in float",
    ("wasm", "fp32"): "exact; larger and slower than int8 would be",
    ("native", "q8"): "the CPU has integer instructions for it, and it is the file that browsers without a GPU run",
    ("native", "fp32"): "exact",
    ("native", "q4"): "weights only: smaller than fp32",
}
#: What runs on every tier and every device (no fp16): most faithful first, until it is measured.
_COMMON = ("fp32", "q4", "q8")


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
    seen = facts or Facts()
    reasons = {
        (tier, dtype): unfit_reason(manifest, seen, tier, dtype)
        for tier in TIERS
        for dtype in DTYPES_BY_TIER[tier]
        if dtype in manifest["variants"]
    }
    fit = [key for key, reason in reasons.items() if reason is None]
    return {
        "files": [
            {"tier": tier, "dtype": dtype, "needs": _needs(manifest, tier, dtype), "why": _why(manifest, tier, dtype)}
            for tier in TIERS
            for dtype in _first_for_each_device(manifest, tier, [key[1] for key in fit if key[0] == tier])
        ],
        "common": _common(manifest, [d for d in _COMMON if all((tier, d) in fit for tier in TIERS)]),
        "not_advised": [
            {"tier": tier, "dtype": dtype, "why": reason} for (tier, dtype), reason in reasons.items() if reason
        ],
        "precision": _precision(manifest.get("parameters")),
        "warnings": warnings_about(manifest, seen),
    }


def describe(advice: Mapping[str, Any]) -> Iterator[str]:
    """The advice in lines for a terminal."""
    for entry in advice["files"]:
        needs = f" (needs {', '.join(entry['needs'])})" if entry["needs"] else ""
        yield f"{entry['tier']:7} {entry['dtype']}{needs}: {entry['why']}."
    if advice["common"]:
        yield f"same everywhere: {advice['common']['dtype']}: {advice['common']['why']}."
    refused: dict[tuple[str, str], list[str]] = {}
    for entry in advice["not_advised"]:
        refused.setdefault((entry["dtype"], entry["why"]), []).append(entry["tier"])
    for (dtype, why), tiers in refused.items():
        yield f"not {dtype} on {', '.join(tiers)}: {why}."
    if advice["precision"]:
        yield f"by size: {advice['precision']['advised']}: {advice['precision']['why']}."
    for warning in advice["warnings"]:
        yield f"warning: {warning['what']}. {warning['why']}. {warning['do']}."


def _needs(manifest: Mapping[str, Any], tier: str, dtype: str) -> list[str]:
    """Features are the WebGPU adapter's: no other tier needs them."""
    return list(manifest["variants"][dtype]["features"]) if tier == "webgpu" else []


def _first_for_each_device(manifest: Mapping[str, Any], tier: str, dtypes: list[str]) -> list[str]:
    """The best dtype, then what a device takes that lacks its features, until one needs none."""
    kept: list[str] = []
    for dtype in dtypes:
        needs = set(_needs(manifest, tier, dtype))
        if not any(set(_needs(manifest, tier, better)) <= needs for better in kept):
            kept.append(dtype)
    return kept


def _why(manifest: Mapping[str, Any], tier: str, dtype: str) -> str:
    return f"{_WHY[tier, dtype]}; {quality_told(manifest, dtype)}"


def _common(manifest: Mapping[str, Any], dtypes: list[str]) -> dict[str, Any] | None:
    """The variant that every tier of every device can run and that agrees best, large ones last."""
    if not dtypes:
        return None

    def rank(dtype: str) -> tuple[bool, float]:
        agreement = manifest["variants"][dtype].get("agreement", {})
        measured = [agreement.get("worst_cosine") if embeds(manifest) else None, agreement.get("same_label")]
        quality = min((share for share in measured if share is not None), default=0.0)
        return size_of(manifest, dtype) <= FIRST_VISIT_BYTES, 1.0 if dtype == "fp32" else quality

    best = max(dtypes, key=rank)
    return {"dtype": best, "why": f"every tier of every device runs this file; {quality_told(manifest, best)}"}


def _precision(parameters: int | None) -> dict[str, str] | None:
    if not parameters:
        return None
    size = f"{parameters / 1e9:.1f} billion" if parameters >= 1e9 else f"{parameters / 1e6:.1f} million"
    if parameters > API_FROM:
        return {"advised": "api", "why": f"{size} parameters are too many for a browser: run the model on the API tier"}
    if parameters >= INT4_FROM:
        return {"advised": "int4", "why": f"with {size} parameters only 4-bit weights (q4, q4f16) are small enough"}
    return {"advised": "int8", "why": f"with {size} parameters int8 (q8) is small enough and keeps more than 4 bits do"}
