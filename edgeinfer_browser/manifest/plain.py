"""A plain Hugging Face folder: what ``config.json`` and ``tokenizer_config.json`` tell, in the forms they come in.

Sizes, hashes and which dtypes there are is not known: a file that is missing shows when it is fetched, and the next
dtype is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest.model import ModelManifest
from edgeinfer_browser.manifest.parts import SUFFIXES, ModelFile, Variant

#: The longest text, in tokens, when neither the model's nor the tokenizer's configuration says one.
DEFAULT_MAX_LENGTH = 512

#: Files of external data that one graph may have, as in transformers.js.
MOST_DATA_FILES = 100


def plain_manifest(
    config: Mapping[str, Any], tokenizer_config: Mapping[str, Any], name: str, task: str, url: str
) -> ModelManifest:
    """The manifest of a folder without ``edgeinfer.json``; ``packed`` is False.

    Raises:
        ManifestError: when the configuration has something of the wrong type.
    """
    try:
        external = (config.get("transformers.js_config") or {}).get("use_external_data_format")
        return ModelManifest(
            name=name,
            task=task,
            revision="",
            labels=_labels(config),
            problem_type=_is(config.get("problem_type") or "single_label_classification", str, "problem_type"),
            max_length=length_limit(config, tokenizer_config),
            inputs=(),
            variants={dtype: _variant(dtype, external) for dtype in SUFFIXES},
            packed=False,
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise ManifestError(f"{url} is not a model's configuration: {error!r}.", url=url) from error


def length_limit(config: Mapping[str, Any], tokenizer_config: Mapping[str, Any]) -> int:
    """The most tokens of a text: the tokenizer's ``model_max_length``, and never above the model's positions.

    Hugging Face writes 1e30 for a tokenizer that has no limit of its own. RoBERTa is why both count: it has two
    positions more than the tokens it can take.
    """
    stated = tokenizer_config.get("model_max_length") or 1e30
    positions = _is(config.get("max_position_embeddings") or DEFAULT_MAX_LENGTH, int, "max_position_embeddings")
    return int(min(float(stated), positions))


def _labels(config: Mapping[str, Any]) -> tuple[str, ...]:
    """``id2label`` in the order of its numbers; without it Hugging Face's LABEL_0, ... for ``num_labels``."""
    if names := config.get("id2label"):
        return tuple(_is(names[key], str, "a label") for key in sorted(names, key=int))
    count = _is(config.get("num_labels") or 0, int, "num_labels")
    return tuple(f"LABEL_{number}" for number in range(count))


def _variant(dtype: str, external: object) -> Variant:
    graph = f"model{SUFFIXES[dtype]}.onnx"
    count = 1 if external is None else _data_files(graph, dtype, external)
    data = [f"{graph}_data{f'_{number}' if number else ''}" for number in range(count)]
    # Only transformers.js says whether there is data; others (optimum) just write it.
    files = (ModelFile(graph), *(ModelFile(name, optional=external is None) for name in data))
    return Variant(
        dtype,
        tuple(replace(file, path=f"onnx/{file.path}") for file in files),
        features=("shader-f16",) if dtype in ("fp16", "q4f16") else (),
        elsewhere=files,
    )


def _data_files(graph: str, dtype: str, external: object) -> int:
    """How many files of external data a graph has.

    transformers.js: a number or a bool (true is one) for all graphs, or for each file name or the base name ``model``.
    """
    if isinstance(external, Mapping):
        external = next((external[key] for key in (graph, dtype, "model") if key in external), 0)
    if not isinstance(external, int) or not 0 <= external <= MOST_DATA_FILES:
        raise ValueError(f"use_external_data_format is {external!r}, not a bool or a number up to {MOST_DATA_FILES}")
    return int(external)


def _is(value: Any, kind: type, what: str) -> Any:
    """The value, if it is of a JSON type exactly (true is no number)."""
    if type(value) is not kind:
        raise TypeError(f"{what} is {value!r}, not {kind.__name__}")
    return value
