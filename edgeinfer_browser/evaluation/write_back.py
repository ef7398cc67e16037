"""Measured agreement into edgeinfer.json, and the advice that follows from it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import OutputError
from edgeinfer_browser.evaluation.packed_model import PackedModel
from edgeinfer_browser.packing.advice import advise
from edgeinfer_browser.packing.graph_facts import facts_of
from edgeinfer_browser.packing.manifest_file import write_manifest
from edgeinfer_browser.packing.staging import staged

#: Of an output's agreement, what edgeinfer.json keeps; its largest difference stays the golden samples'.
_KEPT = ("output", "texts", "mean_cosine", "worst_cosine", "worst_text", "not_finite", "same_nearest", "spearman")


def measured(model: PackedModel, report: Mapping[str, Any]) -> dict[str, Any]:
    """edgeinfer.json with what was measured in each variant's ``agreement``; of several outputs the worst counts."""
    source = deepcopy(model.source)
    for dtype, variant in report["variants"].items():
        outputs = list(variant["agreement"].values())
        if outputs:
            source["variants"][dtype].setdefault("agreement", {}).update(_agreement(outputs))
    return source


def _agreement(outputs: list[dict[str, Any]]) -> dict[str, Any]:
    """The first output's figures (an embedding's, where there is one); of labels and overflow the worst."""
    found = {key: value for key, value in outputs[0].items() if key in _KEPT}
    found["not_finite"] = max(output["not_finite"] for output in outputs)
    same = [output["same_label"] for output in outputs if "same_label" in output]
    if same:
        changes = [output["largest_score_change"] for output in outputs if "largest_score_change" in output]
        found |= {"same_label": min(same), "largest_score_change": max(changes)}
    return found


def advice_of(model: PackedModel, report: Mapping[str, Any]) -> dict[str, Any]:
    """Advice by what was measured."""
    source = measured(model, report)
    return advise(source, facts_of(model.folder, source))


def write_back(model: PackedModel, report: Mapping[str, Any]) -> str:
    """Store agreement and advice in the folder's edgeinfer.json; gives the new revision.

    The folder is replaced whole; files that do not change are hard links to what they were.

    Raises:
        ManifestError: when the manifest would not be valid.
        OutputError: when it cannot be written; the folder is as before.
    """
    with staged(model.folder) as work:
        shutil.copytree(model.folder, work, symlinks=True, copy_function=_link, dirs_exist_ok=True)
        revision: str = write_manifest(work, measured(model, report))["revision"]
    return revision


def _link(source: str, target: str) -> str:
    """A hard link of a large file, or a copy where the file system has none: the bytes are the same.

    JSON files are copied: they are written anew, and a link would write to the old folder's.
    """
    if source.endswith(".json"):
        return shutil.copy2(source, target)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """The report as a JSON file.

    Raises:
        OutputError: when it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror or error}.", path=str(path)) from error
