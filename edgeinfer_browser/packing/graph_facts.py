"""What advice needs to know beyond edgeinfer.json: read from the packed graphs and from the golden answers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from edgeinfer_browser.packing.advice_warnings import Facts
from edgeinfer_browser.packing.int64_nodes import int64_nodes


def facts_of(folder: Path, manifest: Mapping[str, Any]) -> Facts:
    """The facts of a folder's config.json and variants; weights in external data are not read.

    Args:
        folder: what the paths in ``manifest`` are relative to.
        manifest: edgeinfer.json, with ``variants``.
    """
    variants = manifest["variants"]
    return Facts(
        int64_nodes={dtype: _int64(folder / entry["files"][0]["path"]) for dtype, entry in variants.items()},
        not_finite={dtype: _not_finite(entry) for dtype, entry in variants.items()},
        config=json.loads((folder / "config.json").read_text("utf-8")),
    )


def _int64(path: Path) -> dict[str, int]:
    return dict(int64_nodes(onnx.load(str(path), load_external_data=False).graph))


def _not_finite(entry: Mapping[str, Any]) -> int:
    """Golden samples whose answer has a NaN or an infinity, or the texts, where more of those were seen."""
    golden = sum(
        not all(math.isfinite(value) for tensor in outputs.values() for value in tensor["data"])
        for outputs in entry.get("golden", ())
    )
    return max(golden, int(entry.get("agreement", {}).get("not_finite", 0)))
