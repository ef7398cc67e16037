"""Embeddings: one vector of a text, as the graph gives it, or pooled here from what the model says of each token.

A packed model pools in its graph (``sentence_embedding``). A plain Hugging Face folder, or one that was packed without
pooling, gives ``last_hidden_state``: there the vectors of the text's tokens are pooled as ``1_Pooling/config.json`` and
``modules.json`` say, by the mean and normalised when the folder has neither. It needs no numpy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from edgeinfer_browser.cache import MISSING, ModelFolder
from edgeinfer_browser.errors import ManifestError, ModelError
from edgeinfer_browser.manifest import EMBEDDING, TOKEN_VECTORS, ModelManifest
from edgeinfer_browser.tensors import Tensor

#: ``none`` gives a vector for each token. The names are transformers.js's.
PoolingName = Literal["none", "mean", "cls"]
POOLINGS: tuple[PoolingName, ...] = get_args(PoolingName)

#: What exports call the vectors of the tokens, dims [batch_size, sequence_length, width].
_TOKENS = (TOKEN_VECTORS, "token_embeddings")

#: A vector shorter than this is divided by it, not by its length: zeros stay zeros (torch.nn.functional.normalize).
_SHORTEST = 1e-12


@dataclass(frozen=True, slots=True)
class Pooling:
    """How token vectors become one, and who said so (for ``info.notes``)."""

    name: PoolingName
    normalize: bool
    source: str = ""
    #: The folder was packed, with ``--pooling none``.
    packed: bool = False

    def __str__(self) -> str:
        how = {"mean": "the mean of its tokens", "cls": "its first token's", "none": "one vector a token"}[self.name]
        normalized = ", normalised to length 1" if self.normalize else ", not normalised"
        what = "Packed with --pooling none" if self.packed else "Not packed"
        remedy = "edgeinfer pack with another --pooling" if self.packed else "edgeinfer pack"
        return (
            f"{what}: where the graph gives a vector for each token, an embedding is {how}{normalized}, taken in "
            f"Python ({self.source}). {remedy} puts that into the graph."
        )


def pools_in_graph(manifest: ModelManifest) -> bool:
    """Whether a model was packed to give embeddings itself."""
    return manifest.packed and (EMBEDDING in manifest.outputs or not manifest.outputs)


async def pooling_of(folder: ModelFolder, manifest: ModelManifest) -> Pooling:
    """What a folder in the layout of sentence-transformers asks for; else the mean, normalised.

    Raises:
        ManifestError: for a pooling that is neither ``mean`` nor ``cls``, or a file that is not what it should be.
    """
    config = await _json(folder, manifest, "1_Pooling/config.json")
    modules = await _json(folder, manifest, "modules.json")
    try:
        kinds = None if modules is None else [str(module["type"]) for module in modules]
        name = "mean" if config is None else _pooling_name(config, folder)
    except (TypeError, KeyError, AttributeError) as error:
        raise ManifestError(
            f"{folder.base}: modules.json or 1_Pooling/config.json is not usable: {error!r}."
        ) from error
    normalize = kinds is None or any(kind.endswith("Normalize") for kind in kinds)
    source = "no 1_Pooling/config.json: the default" if config is None else "as 1_Pooling says"
    return Pooling(name, normalize, source, manifest.packed)


def vector(tensor: Tensor) -> list[float]:
    """The one row of an embedding, dims [1, width]."""
    return list(tensor.values())


def find_embedding(outputs: Mapping[str, Tensor]) -> Tensor | None:
    """The pooled output of a graph that has one."""
    return outputs.get(EMBEDDING)


def token_vectors(outputs: Mapping[str, Tensor], tokens: int, model: str) -> list[list[float]]:
    """The vectors of a text's own tokens, without those of padding.

    Raises:
        ModelError: when the model gives none.
    """
    found = next((outputs[name] for name in _TOKENS if name in outputs), None)
    if found is None or len(found.dims) != 3 or found.dims[0] != 1 or not 0 < tokens <= found.dims[1]:
        shapes = ", ".join(f"{name} {list(tensor.dims)}" for name, tensor in outputs.items())
        raise ModelError(
            f"Model {model!r} gives no embeddings: one text should give {EMBEDDING} [1, width] or {_TOKENS[0]} "
            f"[1, {tokens}, width], it gave {shapes or 'nothing'}. Check that it is the model of the task."
        )
    return found.rows()[:tokens]


def pool(vectors: Sequence[Sequence[float]], name: PoolingName) -> list[float]:
    """One vector of several: their mean, or the first one."""
    if name == "cls":
        return list(vectors[0])
    return [math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def normalized(values: Sequence[float]) -> list[float]:
    """The vector at length 1 (L2)."""
    length = max(math.sqrt(math.fsum(x * x for x in values)), _SHORTEST)
    return [x / length for x in values]


def _pooling_name(config: Mapping[str, Any], folder: ModelFolder) -> PoolingName:
    modes = {
        key.removeprefix("pooling_mode_") for key, value in config.items() if key.startswith("pooling_mode_") and value
    }
    known: dict[str, PoolingName] = {"mean_tokens": "mean", "cls_token": "cls"}
    if len(modes) == 1 and modes <= set(known):
        return known[modes.pop()]
    raise ManifestError(
        f"{folder.base}1_Pooling/config.json wants {' and '.join(sorted(modes)) or 'no pooling'}; this package pools "
        f"by {' or '.join(known)}."
    )


async def _json(folder: ModelFolder, manifest: ModelManifest, path: str) -> Any:
    """A file that may be missing; a packed folder lists those it has."""
    if manifest.packed and path not in manifest.files:
        return None
    try:
        return json.loads(await folder.read(path, manifest))
    except MISSING:
        if manifest.packed:
            raise
        return None
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{folder.base}{path} is not JSON: {error}.") from error
