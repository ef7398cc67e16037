"""Variants of a packed model: write their files, run them natively and in the browser, and say what was measured."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from edgeinfer_browser.errors import GraphError, UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.packing.browser_check import Arrays, BrowserCheck, Candidate, feeds_for, web_answers
from edgeinfer_browser.packing.differences import (
    TOLERANCES,
    Answers,
    largest_difference,
    largest_share,
    require_finite_answers,
    tolerance,
)
from edgeinfer_browser.packing.files import file_entry, save
from edgeinfer_browser.packing.graph_file import bytes_of
from edgeinfer_browser.packing.manifest_file import read_manifest, write_manifest
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.samples import Sample, tensors_to_json
from edgeinfer_browser.packing.staging import staged

#: From the packed fp32 model to a variant, and the text of how it was made.
VariantMaker = Callable[[onnx.ModelProto], tuple[onnx.ModelProto, str]]

NOT_CHECKED = "Not checked in a browser: it was packed with --skip-browser-check."
_HALF = {TensorProto.FLOAT16}


@dataclass(frozen=True, slots=True)
class Written:
    """A variant's files, relative to the folder (.onnx first), and what is told of it."""

    files: tuple[str, ...]
    method: str
    features: tuple[str, ...]
    largest_tensor: int
    warnings: tuple[str, ...] = ()


def put_variant(
    folder: Path,
    dtype: str,
    model: onnx.ModelProto,
    method: str,
    calibration: Sequence[str] = (),
    *,
    browser: BrowserCheck | None,
    split_mb: float | None = None,
) -> dict[str, Any]:
    """Add a variant to a packed folder, or replace the one it has; the folder is whole before and after.

    Args:
        folder: a folder that ``edgeinfer pack`` made.
        dtype: ``fp16``, ``q8``, ...: it names the file and is the key in edgeinfer.json.
        model: the variant, with the inputs and outputs of the fp32 model.
        method: how it was made, for people to read.
        calibration: digests (:func:`edgeinfer_browser.packing.texts.digest_of`) of the texts it was calibrated on;
            they are added to those that edgeinfer.json has.
        browser: what to check it with; None skips the check, and the variant's warnings say so.
        split_mb: most MiB of one external data file; None writes one file.

    Returns:
        The variant as edgeinfer.json has it.

    Raises:
        UnknownNameError: for a dtype that does not exist.
        GraphError: when its inputs or outputs are other ones, or native and browser disagree on the golden samples.
        OutputError: when it could not be written.
        InputError: when there is no browser to check it with.
    """
    manifest = read_manifest(folder)
    _require_interface(model, manifest)
    samples = [Sample.from_json(entry) for entry in manifest["golden"]]
    with staged(folder) as work:
        shutil.copytree(folder, work, dirs_exist_ok=True)
        for file in manifest["variants"].get(dtype, {}).get("files", ()):
            (work / file["path"]).unlink(missing_ok=True)
        written = {dtype: write_variant(work, dtype, model, method, split_mb)}
        reference = _reference(work, manifest, samples) if dtype != "fp32" else None
        manifest["variants"] |= measured(work, written, samples, reference, browser)
        with_calibration(manifest, calibration)
        entry: dict[str, Any] = write_manifest(work, manifest)["variants"][dtype]
    return entry


def write_variant(
    folder: Path, dtype: str, model: onnx.ModelProto, method: str, split_mb: float | None = None
) -> Written:
    """Write a variant's files below ``folder``.

    Raises:
        UnknownNameError: for a dtype that does not exist.
    """
    if dtype not in SUFFIXES:
        raise UnknownNameError.of("dtype", dtype, SUFFIXES)
    paths = save(model, folder / f"onnx/model{SUFFIXES[dtype]}.onnx", split_mb)
    return Written(
        files=tuple(str(path.relative_to(folder)) for path in paths),
        method=method,
        features=("shader-f16",) if _computes_in_half(model) else (),
        largest_tensor=max(map(bytes_of, model.graph.initializer), default=0),
        warnings=tuple(_too_large(path, split_mb) for path in paths[1:] if _exceeds(path, split_mb)),
    )


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


def with_calibration(manifest: dict[str, Any], digests: Sequence[str]) -> None:
    """Add the digests of texts that a variant was calibrated on to a manifest."""
    if digests:
        every = sorted({*manifest.get("calibration", {}).get("digests", ()), *digests})
        manifest["calibration"] = {"texts": len(every), "digests": every}


def _require_interface(model: onnx.ModelProto, manifest: Mapping[str, Any]) -> None:
    for what, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
        mine, wanted = ({value.name for value in values}, {entry["name"] for entry in manifest[what]})
        if mine != wanted:
            raise GraphError(
                f"The variant has the {what} {', '.join(sorted(mine))}; the packed model {', '.join(sorted(wanted))}. "
                "Make the variant from the packed fp32 graph.",
                **{what: sorted(mine)},
            )


def _reference(folder: Path, manifest: Mapping[str, Any], samples: Sequence[Sample]) -> Answers | None:
    files = manifest["variants"].get("fp32", {}).get("files")
    if not files:
        return None
    return answers(open_session(folder / files[0]["path"]), [sample.feeds for sample in samples])


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


def _computes_in_half(model: onnx.ModelProto) -> bool:
    casts = (node for node in model.graph.node if node.op_type == "Cast")
    return any(tensor.data_type in _HALF for tensor in model.graph.initializer) or any(
        helper.get_node_attr_value(node, "to") in _HALF for node in casts
    )


def _exceeds(path: Path, split_mb: float | None) -> bool:
    return split_mb is not None and path.stat().st_size > split_mb * 2**20


def _too_large(path: Path, split_mb: float | None) -> str:
    size = path.stat().st_size / 2**20
    return f"{path.name} has {size:.1f} MiB, more than the {split_mb:g} asked for: one tensor, which cannot be split."
