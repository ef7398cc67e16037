"""``edgeinfer.json``: checked against the schema and the rules, then read."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest.json_schema import violation
from edgeinfer_browser.manifest.model import ModelManifest
from edgeinfer_browser.manifest.parts import Calibration, HeadSpec, ModelFile, Variant
from edgeinfer_browser.manifest.revision import FORMAT
from edgeinfer_browser.manifest.rules import contradiction
from edgeinfer_browser.tensors import Tensor


@functools.cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of ``edgeinfer.json`` (draft 2020-12)."""
    return dict(json.loads(Path(__file__).with_name("edgeinfer.schema.json").read_text("utf-8")))


def packed_manifest(source: dict[str, Any], url: str) -> ModelManifest:
    """The manifest that an ``edgeinfer.json`` describes.

    Raises:
        ManifestError: naming the place and what is wrong with it.
    """
    if isinstance(source.get("format"), bool) or source.get("format") != FORMAT:
        raise ManifestError(
            f"{url} has format {source.get('format')!r}; this version reads {FORMAT}. Pack the model again.", url=url
        )
    try:
        wrong = violation(source, schema()) or contradiction(source)
        if wrong is None:
            return _manifest(source)
    except (ValueError, OverflowError, RecursionError) as error:
        wrong = str(error).rstrip(".")
    raise ManifestError(f"{url} is not a usable manifest: {wrong}. Pack the model again.", url=url)


def tensor_to_json(tensor: Tensor) -> dict[str, Any]:
    """A tensor as the manifest stores it: ``{dtype, dims, data}``.

    Nine digits give every float32 back exactly; Python would write twice as many.
    """
    short = tensor.dtype in ("float32", "float16")
    data = [float(f"{value:.9g}") for value in tensor.values()] if short else list(tensor.values())
    return {"dtype": tensor.dtype, "dims": list(tensor.dims), "data": data}


def _manifest(source: Mapping[str, Any]) -> ModelManifest:
    return ModelManifest(
        name=source["name"],
        task=source["task"],
        revision=source["revision"],
        labels=tuple(source["labels"]),
        problem_type=source["problem_type"],
        max_length=int(source["max_length"]),
        inputs=tuple(entry["name"] for entry in source["inputs"]),
        outputs=tuple(entry["name"] for entry in source.get("outputs", ())),
        heads=tuple(_head(head) for head in source.get("heads", ())),
        variants={dtype: _variant(dtype, entry) for dtype, entry in source["variants"].items()},
        files={path: _file(path, entry) for path, entry in source["files"].items()},
        golden_inputs=tuple(_tensors(sample["inputs"]) for sample in source["golden"]),
        golden_texts=tuple(sample.get("text") for sample in source["golden"]),
        parameters=int(source.get("parameters", 0)),
        calibration=_calibration(source.get("calibration")),
        advice=source.get("advice"),
        preprocessing=source.get("preprocessing"),
        license=source.get("license", ""),
        attribution=tuple(source.get("attribution", ())),
    )


def _variant(dtype: str, entry: Mapping[str, Any]) -> Variant:
    return Variant(
        dtype=dtype,
        files=tuple(_file(file["path"], file) for file in entry["files"]),
        largest_tensor=int(entry["largest_tensor"]),
        features=tuple(entry["features"]),
        tolerance=float(entry["tolerance"]),
        golden_outputs=tuple(_tensors(outputs) for outputs in entry["golden"]),
        method=entry.get("method", ""),
        agreement=entry.get("agreement", {}),
        warnings=tuple(entry.get("warnings", ())),
    )


def _head(entry: Mapping[str, Any]) -> HeadSpec:
    return HeadSpec(
        entry["name"], entry["output"], tuple(entry["labels"]), entry["problem_type"], entry.get("accuracy", {})
    )


def _calibration(entry: Mapping[str, Any] | None) -> Calibration | None:
    return None if entry is None else Calibration(int(entry["texts"]), tuple(entry["digests"]))


def _file(path: str, entry: Mapping[str, Any]) -> ModelFile:
    return ModelFile(path, int(entry["bytes"]), entry["sha256"])


def _tensors(source: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: _tensor(name, entry) for name, entry in source.items()}


def _tensor(name: str, entry: Mapping[str, Any]) -> Tensor:
    tensor = Tensor.from_values(entry["dtype"], [int(dim) for dim in entry["dims"]], entry["data"])
    if entry["dtype"].startswith("float") and not all(map(math.isfinite, tensor.values())):
        raise ValueError(f"a golden {name!r} has values that do not fit {entry['dtype']}")
    return tensor
