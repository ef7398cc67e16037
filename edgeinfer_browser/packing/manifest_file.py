"""edgeinfer.json as it is written: advice and revision last, held against the schema before it is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import revision_of
from edgeinfer_browser.packing.advice import advise
from edgeinfer_browser.packing.files import file_entry
from edgeinfer_browser.packing.graph_facts import facts_of
from edgeinfer_browser.packing.model_config import with_external_data
from edgeinfer_browser.packing.schema import require_valid
from edgeinfer_browser.packing.source import read_json

NAME = "edgeinfer.json"
#: A tensor's data, which indent= puts one on a line. No string of JSON has a line break in it.
_LIST_OF_NUMBERS = re.compile(r"\[\n[-+.\deE,\s]+\]")


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a packed folder's edgeinfer.json says.

    Raises:
        ManifestError: when there is none, or it is not a manifest.
    """
    if not (folder / NAME).is_file():
        raise ManifestError(
            f"{folder} has no {NAME}. Pack the model first: edgeinfer pack SOURCE {folder} --task ...", file=NAME
        )
    manifest: dict[str, Any] = read_json(folder / NAME)
    require_valid(manifest, str(folder / NAME))
    return manifest


def write_manifest(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Complete a manifest and write it: the small files' hashes, advice, revision; config.json's list of data files.

    Raises:
        ManifestError: when it would not be valid.
    """
    data_files = {
        Path(variant["files"][0]["path"]).name: len(variant["files"]) - 1 for variant in manifest["variants"].values()
    }
    write_json(folder / "config.json", with_external_data(read_json(folder / "config.json"), data_files))
    whole = {key: value for key, value in manifest.items() if key not in ("advice", "revision")}
    small = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.json"))}
    whole["files"] = {name: file_entry(path) for name, path in small.items() if name != NAME}
    whole["advice"] = advise(whole, facts_of(folder, whole))
    whole["revision"] = revision_of(whole)
    require_valid(whole, str(folder / NAME))
    text = json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True)
    (folder / NAME).write_text(_LIST_OF_NUMBERS.sub(_on_one_line, text) + "\n", "utf-8")
    return whole


def _on_one_line(numbers: re.Match[str]) -> str:
    return "".join(numbers[0].split())


def write_json(path: Path, value: Any) -> None:
    """JSON for people to read, keys in order."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n", "utf-8")
