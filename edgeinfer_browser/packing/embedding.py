"""feature-extraction: an encoder made to give one vector of a text, pooled as its makers meant it.

Beside it stay the vectors of the tokens, which cost nothing: transformers.js's pipeline pools those by itself. Our own
sessions do not ask for them (:func:`edgeinfer_browser.manifest.wanted_outputs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import onnx

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import EMBEDDING, TOKEN_VECTORS
from edgeinfer_browser.packing.pooling import Pooling, pooled
from edgeinfer_browser.packing.source import Source, read_json
from edgeinfer_browser.packing.task_output import find_token_output, token_output, vector_output, with_first_output
from edgeinfer_browser.packing.text_inputs import output_dims

_NORMALIZE = "sentence_transformers.models.Normalize"
_KNOWN_MODULES = (_NORMALIZE, "sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling")
_MODES: Mapping[str, Pooling] = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


def embedded(
    model: onnx.ModelProto, source: Source, pooling: Pooling | None, normalize: bool | None
) -> tuple[onnx.ModelProto, str]:
    """The model with the output ``sentence_embedding``, and how it was made.

    A second output, ``last_hidden_state`` float32 [batch_size, sequence_length, width], has the vectors that were
    pooled; it is missing where a source gives nothing but embeddings, and the only one with ``none``.

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
        tokens = find_token_output(dims)
        whole = with_first_output(model, tokens[0], TOKEN_VECTORS, dims[tokens[0]]) if tokens else model
        return _with_tokens(pooled(whole, *ready, None, norm), whole), f"{EMBEDDING} as the graph gave it{_and(norm)}"
    hidden, width = token_output(dims, source.name)
    kind = pooling or _pooling_of(source) or "mean"
    named = with_first_output(model, hidden, TOKEN_VECTORS, dims[hidden])
    if kind == "none":
        del named.graph.output[1:]
        return named, f"{TOKEN_VECTORS} of every token, not pooled"
    mode: Literal["mean", "cls"] = kind
    made = _with_tokens(pooled(named, TOKEN_VECTORS, width, mode, norm), named)
    return made, f"{kind} pooling{_and(norm)} in the graph, in float32"


def _with_tokens(made: onnx.ModelProto, source: onnx.ModelProto) -> onnx.ModelProto:
    """With the source's output ``last_hidden_state`` after its own, if that has it."""
    made.graph.output.extend(value for value in source.graph.output if value.name == TOKEN_VECTORS)
    return made


def _and(norm: bool) -> str:
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
