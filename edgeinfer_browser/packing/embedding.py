"""feature-extraction: an encoder made to give one vector of a text, pooled as its makers meant it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import onnx

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.packing.pooling import EMBEDDING, Pooling, pooled
from edgeinfer_browser.packing.source import Source, read_json
from edgeinfer_browser.packing.task_output import TOKEN_OUTPUTS, token_output, vector_output, with_single_output
from edgeinfer_browser.packing.text_inputs import output_dims

_NORMALIZE = "sentence_transformers.models.Normalize"
_KNOWN_MODULES = (_NORMALIZE, "sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling")
_MODES: Mapping[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


def embedded(
    model: onnx.ModelProto, source: Source, pooling: Pooling | None, normalize: bool | None
) -> tuple[onnx.ModelProto, str]:
    """The model with the output ``sentence_embedding`` alone (``none``: ``last_hidden_state``), and how it was made.

    Args:
        model: the encoder; inputs as :func:`edgeinfer_browser.packing.text_inputs.check_text_inputs` wants them.
        source: where its sentence-transformers files say how it was trained.
        pooling: None takes the source's, else an embedding that the graph gives already, else ``mean``.
        normalize: None takes the source's, else yes.

    Raises:
        GraphError: when there is nothing to pool.
        ManifestError: when the source's pooling is one that this package does not put in the graph.
    """
    dims = output_dims(model, source.name)
    norm = _normalizes(source) if normalize is None else normalize
    ready = vector_output(dims, EMBEDDING)
    if ready and pooling is None:
        return pooled(model, *ready, None, norm), f"{EMBEDDING} as the graph gave it{_and_norm(norm)}"
    hidden, width = token_output(dims, source.name)
    kind = pooling or _pooling_of(source) or "mean"
    if kind == "none":
        output = TOKEN_OUTPUTS[0]
        return with_single_output(model, hidden, output, dims[hidden]), f"{output} of every token, not pooled"
    mode: Literal["mean", "cls"] = kind
    return pooled(model, hidden, width, mode, norm), f"{kind} pooling{_and_norm(norm)} in the graph, in float32"


def _and_norm(norm: bool) -> str:
    return " and L2 norm" if norm else ""


def _pooling_of(source: Source) -> Pooling | None:
    """What 1_Pooling/config.json says, if there is one."""
    config = source.json("1_Pooling/config.json")
    on = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    if not on:
        return None
    if len(on) > 1 or on[0] not in _MODES:
        raise ManifestError(
            f"{source.name}: 1_Pooling/config.json asks for {' and '.join(on)}; known are {', '.join(_MODES)}. "
            "Say what to do instead: --pooling mean, cls or none."
        )
    return _MODES[on[0]]


def _normalizes(source: Source) -> bool:
    """What modules.json says; yes without one."""
    path = source.files.get("modules.json")
    if path is None:
        return True
    modules: list[dict[str, Any]] = read_json(path)
    kinds = [str(module.get("type")) for module in modules]
    unknown = sorted(set(kinds) - set(_KNOWN_MODULES))
    if unknown:
        raise ManifestError(
            f"{path} has modules that are not put in the graph: {', '.join(unknown)}. Export the whole model with its "
            "sentence_embedding, or say --no-normalize or --normalize to pack the encoder alone."
        )
    return _NORMALIZE in kinds
