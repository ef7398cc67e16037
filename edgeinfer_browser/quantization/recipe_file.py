"""The file of a found recipe: JSON, below 100 kB, to be applied in seconds where nothing is to be searched.

::

    {"format": 1, "method": "int8-dynamic", "per_channel": true, "embeddings": "rows",
     "channels": [{"matrices": ["<digest>"], "scale": "<base64 of float16>", "outliers": [46, 856]}],
     "keep": ["<digest>"], "keep_dtype": "float16", "names": {"<digest>": "<weight>"},
     "calibration": {"texts": 200, "digests": [...]}, "measured": {...}}
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from edgeinfer_browser.errors import InputError, OutputError
from edgeinfer_browser.packing.variants import VariantMaker
from edgeinfer_browser.quantization.found_recipe import EMBEDDINGS, ChannelStep, FoundRecipe, apply_recipe

__all__ = ["FORMAT", "apply_recipe", "read_recipe", "variant_maker", "write_recipe"]

FORMAT = 1
METHOD = "int8-dynamic"


def variant_maker(path: Path) -> VariantMaker:
    """What makes the variant of a recipe file: float32 model in, int8 model and the text for ``method`` out.

    Raises:
        InputError: when the file is not a recipe.
    """
    recipe = read_recipe(path)

    def make(model: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
        return apply_recipe(model, recipe), recipe.describe()

    return make


def write_recipe(path: Path, recipe: FoundRecipe) -> None:
    """Write the file; the same recipe gives the same bytes.

    Raises:
        OutputError: when it cannot be written.
    """
    text = json.dumps(to_json(recipe), ensure_ascii=False, indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror or error}.", path=str(path)) from error


def read_recipe(path: Path) -> FoundRecipe:
    """Read the file.

    Raises:
        InputError: when it is not there, is not JSON, or is not a recipe that this version knows.
    """
    try:
        fields = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a quantization recipe: {error}.", path=str(path)) from error
    try:
        return from_json(fields)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path} is not a quantization recipe of format {FORMAT}: {type(error).__name__}: {error}. "
            "Make one with edgeinfer quantize --save-recipe.",
            path=str(path),
        ) from error


def to_json(recipe: FoundRecipe) -> dict[str, Any]:
    """The fields of the file."""
    return {
        "format": FORMAT,
        "method": METHOD,
        "per_channel": recipe.per_channel,
        "embeddings": recipe.embeddings,
        "channels": [_step_to_json(step) for step in recipe.channels],
        "keep": list(recipe.keep),
        "keep_dtype": "float16",
        "names": dict(recipe.names),
        "calibration": dict(recipe.calibration),
        "measured": dict(recipe.measured),
    }


def from_json(fields: Mapping[str, Any]) -> FoundRecipe:
    """The recipe of such fields.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: when they are others.
    """
    for name, value in (("format", FORMAT), ("method", METHOD), ("keep_dtype", "float16")):
        if fields[name] != value:
            raise ValueError(f"{name} is {fields[name]!r}, not {value!r}")
    if fields["embeddings"] not in EMBEDDINGS:
        raise ValueError(f"embeddings is {fields['embeddings']!r}, not one of {', '.join(EMBEDDINGS)}")
    return FoundRecipe(
        bool(fields["per_channel"]),
        fields["embeddings"],
        tuple(_step_from_json(step) for step in fields["channels"]),
        tuple(map(str, fields["keep"])),
        dict(fields["names"]),
        dict(fields["calibration"]),
        dict(fields["measured"]),
    )


def _step_to_json(step: ChannelStep) -> dict[str, Any]:
    made: dict[str, Any] = {"matrices": list(step.matrices)}
    if step.scale:
        made["scale"] = base64.b64encode(step.scale).decode("ascii")
    if step.outliers:
        made["outliers"] = list(step.outliers)
    return made


def _step_from_json(fields: Mapping[str, Any]) -> ChannelStep:
    scale = base64.b64decode(fields.get("scale", ""), validate=True)
    return ChannelStep(tuple(map(str, fields["matrices"])), scale, tuple(map(int, fields.get("outliers", ()))))
