"""What edgeinfer.json says of a variant: its files are run natively and in the browser, and the answers compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.packing.browser_check import Arrays, BrowserCheck, Candidate, feeds_for, web_answers
from edgeinfer_browser.packing.differences import (
    TOLERANCES,
    Answers,
    largest_difference,
    largest_share,
    require_finite_answers,
    tolerance,
)
from edgeinfer_browser.packing.files import file_entry
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.samples import Sample, tensors_to_json
from edgeinfer_browser.packing.written import Written

NOT_CHECKED = "Not checked in a browser: it was packed with --skip-browser-check."


def measured(
    folder: Path,
    written: Mapping[str, Written],
    samples: Sequence[Sample],
    reference: Answers | None,
    browser: BrowserCheck | None,
) -> dict[str, dict[str, Any]]:
    """Run each variant from its files, natively and in the browser, and give its entry of edgeinfer.json by dtype.

    Args:
        folder: what the variants' files are relative to.
        written: the variants by dtype.
        samples: the golden samples.
        reference: fp32's answers to them; None takes those of the first variant.
        browser: what to check with, or None.

    Raises:
        GraphError: when an answer is not finite, or native and browser disagree.
    """
    feeds = [sample.feeds for sample in samples]
    native = {dtype: answers(open_session(folder / each.files[0]), feeds) for dtype, each in written.items()}
    for dtype, given in native.items():
        require_finite_answers(given, f"The {dtype} variant")
    candidates = {
        dtype: Candidate(each.files, each.features, tuple(next(iter(native[dtype]), ())))
        for dtype, each in written.items()
    }
    web = web_answers(folder, candidates, feeds, browser) if browser else {}
    truth = reference or next(iter(native.values()))
    entries = {}
    for dtype, each in written.items():
        checked = [_checked(folder, dtype, each, feeds, tier, given) for tier, given in web.get(dtype, {}).items()]
        entries[dtype] = _entry(folder, dtype, each, native[dtype], truth, checked)
    return entries


def _entry(
    folder: Path,
    dtype: str,
    variant: Written,
    native: Answers,
    truth: Answers,
    checked: Sequence[tuple[float, float]],
) -> dict[str, Any]:
    """``checked`` has the difference to native ONNX Runtime of each tier in the browser: as a share, and absolute."""
    agreement = {"max_abs_difference": largest_difference(truth, native)}
    if checked:
        agreement["web_max_abs_difference"] = max(difference for _, difference in checked)
    return {
        "files": [{"path": path, **file_entry(folder / path)} for path in variant.files],
        "largest_tensor": variant.largest_tensor,
        "features": list(variant.features),
        "tolerance": tolerance(dtype, max((share for share, _ in checked), default=0.0)),
        "golden": [tensors_to_json(outputs) for outputs in native],
        "method": variant.method,
        "agreement": agreement,
        "warnings": [*variant.warnings, *([] if checked else [NOT_CHECKED])],
    }


def _checked(
    folder: Path, dtype: str, variant: Written, feeds: Sequence[Arrays], tier: str, web: Answers
) -> tuple[float, float]:
    """How far a tier's answers are from native ones: as a share of the output's largest value, and absolute.

    Raises:
        GraphError: when it is more than the dtype may differ at all.
    """
    native = answers(open_session(folder / variant.files[0]), feeds_for(tier, feeds))
    share = largest_share(native, web)
    if not share <= TOLERANCES[dtype]:
        raise GraphError(
            f"The {dtype} variant answers otherwise in onnxruntime-web ({tier}) than natively: by {share:.2g} of the "
            f"largest value, {TOLERANCES[dtype]:g} is allowed. Make it another way, or leave it out (--dtypes).",
            dtype=dtype,
            tier=tier,
            difference=share if math.isfinite(share) else None,
        )
    return share, largest_difference(native, web)
