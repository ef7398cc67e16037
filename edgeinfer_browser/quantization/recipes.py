"""The ways to make a model smaller, by name: each is ONNX Runtime's own quantizer, or a companion tool's.

::

    small = quantize(model, "int8-dynamic")
    small = quantize(model, "int8-static", calibration=feeds, keep=["/layers.0/mlp/MatMul"], method="percentile")

A recipe takes a float32 model, leaves it as it was, and gives a new one with the same inputs and outputs, all of the
same types. The same model, options and calibration feeds give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import onnx

from edgeinfer_browser.errors import UnknownNameError
from edgeinfer_browser.packing.quiet import quiet
from edgeinfer_browser.quantization.calibration import Feeds, require_feeds
from edgeinfer_browser.quantization.canonical import canonical, gemms_as_matmuls, named_copy
from edgeinfer_browser.quantization.companion import awq
from edgeinfer_browser.quantization.dynamic import int8_dynamic
from edgeinfer_browser.quantization.float16 import float16
from edgeinfer_browser.quantization.static import int8_static
from edgeinfer_browser.quantization.weight_only import gptq, hqq, k_quant, rtn


class Maker(Protocol):
    """What makes the variant: it may change ``model``, and leaves the nodes named in ``keep`` in float32."""

    def __call__(
        self, model: onnx.ModelProto, calibration: Sequence[Feeds], keep: Sequence[str], **options: Any
    ) -> onnx.ModelProto:
        """The quantized model."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One method: what it gives, what it takes."""

    #: The manifest's dtype of what it makes.
    dtype: str
    #: What it does, in a few words.
    summary: str
    make: Maker
    #: Name of each option and its default.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Whether it needs calibration feeds. Others use them where they are given (fp16: to find what overflows).
    needs_calibration: bool = False


_DYNAMIC = {"per_channel": True, "op_types": ("MatMul", "Gather", "Conv")}
_STATIC = {
    "ranges": "minmax",
    "percentile": 99.999,
    "per_channel": True,
    "op_types": ("MatMul", "Conv"),
    "embeddings": "int8",
    "activation_type": "uint8",
}
_WEIGHTS = {"block_size": 32, "accuracy_level": 0, "embeddings": "int8"}
_RTN = {**_WEIGHTS, "symmetric": False}
_GPTQ = {**_RTN, "percdamp": 0.01, "actorder": False, "mse": False}

#: The 4-bit methods: name -> (what it is, maker, options, whether it needs calibration).
_INT4: Mapping[str, tuple[str, Maker, Mapping[str, Any], bool]] = {
    "rtn": ("round to nearest", rtn, _RTN, False),
    "k-quant": ("k-quant: scales by weighted least squares", k_quant, _WEIGHTS, False),
    "hqq": ("HQQ: half-quadratic fit of the zero points", hqq, _WEIGHTS, False),
    "gptq": ("GPTQ: errors passed on to the columns not yet rounded", gptq, _GPTQ, True),
    "awq": ("AWQ: scales that protect the channels with large activations", awq, {**_RTN, "samples": 32}, True),
}


def _int4_recipes() -> dict[str, Recipe]:
    made = {}
    for name, (summary, make, options, needs) in _INT4.items():
        four = {**options, "bits": 4, "activations": "float32"}
        half = {**options, "bits": 4, "activations": "float16"}
        made[f"int4-weights-{name}"] = Recipe("q4", f"4-bit weights, {summary}", make, four, needs)
        made[f"int4-weights-{name}-fp16"] = Recipe("q4f16", f"4-bit weights, fp16 rest, {summary}", make, half, needs)
    return made


#: Every method by name.
RECIPES: Mapping[str, Recipe] = {
    "fp16": Recipe("fp16", "16-bit floats", float16, {"keep_op_types": ()}),
    "int8-dynamic": Recipe("q8", "8-bit weights, activations scaled in each run", int8_dynamic, _DYNAMIC),
    "int8-static": Recipe("q8", "8-bit weights, activations scaled by calibration", int8_static, _STATIC, True),
    "int8-weights-rtn": Recipe(
        "q8", "8-bit weights, round to nearest", rtn, {**_RTN, "bits": 8, "activations": "float32"}
    ),
    **_int4_recipes(),
}

#: The manifest's dtype of what each method makes.
DTYPE_OF: Mapping[str, str] = {name: recipe.dtype for name, recipe in RECIPES.items()}


def quantize(
    model: onnx.ModelProto,
    method: str,
    *,
    calibration: Sequence[Feeds] = (),
    keep: Sequence[str] = (),
    **options: Any,
) -> onnx.ModelProto:
    """The model made smaller by ``method``.

    Args:
        model: float32, weights in memory; it is left as it was.
        method: a name of :data:`RECIPES`.
        calibration: feeds of the model, one a text or image, as :func:`edgeinfer_browser.packing.native.feeds_of`
            makes them.
        keep: names of nodes that stay in float32.
        options: those of ``RECIPES[method].options``.

    Raises:
        UnknownNameError: a method, an option or a node to keep that does not exist.
        InputError: calibration feeds are needed and there are fewer than two, or a package is missing (says which).
    """
    recipe = RECIPES.get(method)
    if recipe is None:
        raise UnknownNameError.of("quantization method", method, RECIPES)
    chosen = _chosen(method, recipe, options)
    if recipe.needs_calibration:
        require_feeds(calibration, method)
    mine = named_copy(model)
    names = {node.name for node in mine.graph.node}
    for name in keep:
        if name not in names:
            raise UnknownNameError.of("node to keep", name, names)
    with quiet():
        kept = keep if recipe.dtype == "fp16" else gemms_as_matmuls(mine, keep)
        return canonical(recipe.make(mine, calibration, kept, **chosen), model)


def describe(method: str, options: Mapping[str, Any] | None = None, keep: Sequence[str] = ()) -> str:
    """How a variant was made, in one line, for the manifest's ``method``: the name and what differs from the default.

    Raises:
        UnknownNameError: a method or an option that does not exist.
    """
    recipe = RECIPES.get(method)
    if recipe is None:
        raise UnknownNameError.of("quantization method", method, RECIPES)
    defaults = recipe.options
    _chosen(method, recipe, options or {})
    words = [f"{key}={value}" for key, value in sorted((options or {}).items()) if value != defaults[key]]
    if keep:
        words.append(f"{len(keep)} node{'s' if len(keep) > 1 else ''} kept in float32")
    return f"{method} ({recipe.summary})" + (": " + ", ".join(words) if words else "")


def _chosen(method: str, recipe: Recipe, options: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in recipe.options:
            raise UnknownNameError.of(f"option of {method}", name, recipe.options)
    return {**recipe.options, **options}
