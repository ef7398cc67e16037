"""What a search found, and how it is done again: the same steps on the same float32 weights, without any texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.quantization.embedding_rows import quantize_rows
from edgeinfer_browser.quantization.matrices import Floats, Matrix, find_matrices, initializers, with_matmuls
from edgeinfer_browser.quantization.outliers import add_side_product
from edgeinfer_browser.quantization.recipes import quantize
from edgeinfer_browser.quantization.smoothing import scale_channels

#: ``rows``: int8, one scale a row. ``table``: int8, one scale a table. ``float32``: as they are.
Embeddings = Literal["rows", "table", "float32"]
EMBEDDINGS: tuple[Embeddings, ...] = get_args(Embeddings)


@dataclass(frozen=True, slots=True)
class ChannelStep:
    """What is done to the channels of one tensor that matrices read."""

    #: Digests of the matrices.
    matrices: tuple[str, ...]
    #: Smoothing scale of each channel: float16, little-endian; empty for none.
    scale: bytes = b""
    #: Channels that are computed on the side, in float32.
    outliers: tuple[int, ...] = ()

    def inverse(self, channels: int) -> Floats:
        """What to multiply each channel by, float32 [channels]: 1/scale, and 0 for those on the side."""
        scale = np.frombuffer(self.scale, "<f2").astype(np.float32) if self.scale else np.ones(channels, np.float32)
        made: Floats = (1 / scale).astype(np.float32)
        made[list(self.outliers)] = 0
        return made


@dataclass(frozen=True, slots=True)
class FoundRecipe:
    """int8 by ``int8-dynamic``, with what the search added to it."""

    per_channel: bool = True
    embeddings: Embeddings = "table"
    channels: tuple[ChannelStep, ...] = ()
    #: Digests of the matrices that are not quantized, but stored as float16 and computed in float32.
    keep: tuple[str, ...] = ()
    #: Digest -> name of the weight in the model it was found on: for people and messages.
    names: Mapping[str, str] = field(default_factory=dict)
    calibration: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """How the variant was made, in one line."""
        smoothed = sum(bool(step.scale) for step in self.channels)
        outliers = sum(len(step.outliers) for step in self.channels)
        parts = [
            "per channel" if self.per_channel else "per tensor",
            f"{smoothed} inputs smoothed" if smoothed else "",
            f"{outliers} outlier channels in float32" if outliers else "",
            f"{len(self.keep)} matrices in float16" if self.keep else "",
            {"rows": "embeddings int8 by row", "table": "embeddings int8", "float32": "embeddings float32"}[
                self.embeddings
            ],
        ]
        return f"int8-dynamic, searched: {', '.join(part for part in parts if part)}"


def apply_recipe(model: onnx.ModelProto, recipe: FoundRecipe) -> onnx.ModelProto:
    """The int8 variant of a float32 model, which is left as it was. The same model and recipe give the same bytes.

    The model may have other names and other outputs than the one the recipe was found on (heads joined to it, say):
    matrices are known by their values.

    Raises:
        GraphError: when a matrix of the recipe is not in the model, or its channels are not those of the recipe.
    """
    mine = with_matmuls(model)
    matrices = _by_digest(mine, recipe)
    side: list[str] = []
    for step in recipe.channels:
        side += _change_channels(mine, [matrices[digest] for digest in step.matrices], step)
    tables = ("Gather",) if recipe.embeddings == "table" else ()
    kept = [matrices[digest] for digest in recipe.keep]
    keep = [*side, *(matrix.node for matrix in kept)]
    if recipe.embeddings == "rows":
        quantize_rows(mine)
    made = quantize(
        mine, "int8-dynamic", keep=keep, per_channel=recipe.per_channel, op_types=("MatMul", "Conv", *tables)
    )
    _store_as_float16(made, (matrix.weight for matrix in kept))
    return made


def _by_digest(model: onnx.ModelProto, recipe: FoundRecipe) -> dict[str, Matrix]:
    found = {matrix.digest: matrix for matrix in find_matrices(model)}
    wanted = [*recipe.keep, *(digest for step in recipe.channels for digest in step.matrices)]
    missing = [recipe.names.get(digest, digest) for digest in wanted if digest not in found]
    if missing:
        raise GraphError(
            f"The quantization recipe is for another model: {len(missing)} of the {len(wanted)} matrices it names are "
            f"not in this one, e.g. {missing[0]}. Search anew (edgeinfer quantize --target ... --save-recipe FILE).",
            missing=missing,
        )
    return found


def _change_channels(model: onnx.ModelProto, readers: list[Matrix], step: ChannelStep) -> list[str]:
    """The side product first: it takes the rows as they are. Gives the nodes that have to stay float32."""
    rows = readers[0].rows
    if len(step.scale) not in (0, 2 * rows) or not all(0 <= channel < rows for channel in step.outliers):
        raise GraphError(
            f"The quantization recipe does not fit {readers[0].weight}, which reads {rows} channels: it has "
            f"{len(step.scale) // 2} scales, and outliers {list(step.outliers)}. Its file was changed; search anew.",
            weight=readers[0].weight,
        )
    side = [name for matrix in readers if step.outliers for name in add_side_product(model, matrix, step.outliers)]
    scale_channels(model, readers, step.inverse(rows))
    return side


def _store_as_float16(model: onnx.ModelProto, weights: Iterable[str]) -> None:
    """Half the bytes to download; ONNX Runtime makes them float32 once, when it loads the model."""
    tensors = initializers(model)
    for name in weights:
        half = numpy_helper.to_array(tensors[name]).astype(np.float16)
        model.graph.initializer.remove(tensors[name])
        model.graph.initializer.append(numpy_helper.from_array(half, f"{name}/float16"))
        cast = helper.make_node("Cast", [f"{name}/float16"], [name], f"{name}/Cast", to=TensorProto.FLOAT)
        model.graph.node.insert(0, cast)
