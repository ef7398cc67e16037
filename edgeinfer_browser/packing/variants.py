"""Variants of a packed model: how one is made, and how one is put into a folder that is packed already."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.differences import Answers
from edgeinfer_browser.packing.manifest_file import read_manifest, write_manifest
from edgeinfer_browser.packing.measurement import measured
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.samples import Sample
from edgeinfer_browser.packing.staging import staged
from edgeinfer_browser.packing.written import write_variant

#: From the packed fp32 model to a variant, and the text of how it was made.
VariantMaker = Callable[[onnx.ModelProto], tuple[onnx.ModelProto, str]]


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
