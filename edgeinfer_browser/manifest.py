"""ModelManifest: what a model folder holds, so that a tier and a file can be chosen before anything is downloaded.

Two sources: ``edgeinfer.json``, written by ``edgeinfer pack`` (files with bytes and sha256, golden samples, measured
agreement), or a plain Hugging Face folder's ``config.json`` (fewer guarantees: ``packed`` is False and nothing can
be verified). dtype names and file names are transformers.js's: ``fp32`` is ``onnx/model.onnx``, ``q8`` is
``onnx/model_quantized.onnx``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeinfer_browser.errors import ManifestError, UnknownNameError
from edgeinfer_browser.tensors import Tensor

#: The version of the edgeinfer.json format that this package reads and writes.
FORMAT = 1

#: dtype -> suffix of the .onnx file's name, as transformers.js has it.
SUFFIXES = {"fp32": "", "fp16": "_fp16", "q8": "_quantized", "q4": "_q4", "q4f16": "_q4f16"}

#: The longest text, in tokens, when neither the manifest nor the tokenizer's configuration says one.
DEFAULT_MAX_LENGTH = 512


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of the folder: path relative to it, size in bytes and sha256 (hex); 0 and "" when not known."""

    path: str
    bytes: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """One dtype of the model: its .onnx file first, then its external data files."""

    dtype: str
    files: tuple[ModelFile, ...]
    #: Bytes of the largest initializer: WebGPU must be able to bind it. 0 when not known.
    largest_tensor: int = 0
    #: WebGPU features the graph needs, e.g. ``shader-f16``.
    features: tuple[str, ...] = ()
    #: Largest absolute difference to the golden outputs that still counts as agreement.
    tolerance: float = 0.05
    #: What native ONNX Runtime answered to each golden input: output name -> tensor.
    golden_outputs: tuple[Mapping[str, Tensor], ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes to download for this dtype; 0 when not known."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """A model folder, read. ``variants`` is by dtype; ``files`` are the small ones by path."""

    name: str
    task: str
    revision: str
    labels: tuple[str, ...]
    problem_type: str
    max_length: int
    inputs: tuple[str, ...]
    variants: Mapping[str, Variant]
    files: Mapping[str, ModelFile] = field(default_factory=dict)
    golden_inputs: tuple[Mapping[str, Tensor], ...] = ()
    packed: bool = True

    def variant(self, dtype: str) -> Variant:
        """The variant of a dtype.

        Raises:
            UnknownNameError: when the folder has none; the message lists those it has.
        """
        if dtype not in self.variants:
            raise UnknownNameError.of(f"dtype of model {self.name!r}", dtype, self.variants)
        return self.variants[dtype]

    @classmethod
    def from_json(cls, text: bytes | str, url: str) -> ModelManifest:
        """Read ``edgeinfer.json``.

        Raises:
            ManifestError: when it is not JSON, of another format version, or lacks something.
        """
        source = _object(text, url)
        if source.get("format") != FORMAT:
            raise ManifestError(
                f"{url} has format {source.get('format')!r}; this version reads {FORMAT}. Pack the model again.",
                url=url,
            )
        try:
            return _packed(source)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ManifestError(f"{url} is not a model manifest: {error!r}. Pack the model again.", url=url) from error

    @classmethod
    def from_hugging_face(
        cls, config: bytes | str, name: str, url: str, task: str, tokenizer_config: bytes | str = b"{}"
    ) -> ModelManifest:
        """Make do with ``config.json`` and, when there is one, ``tokenizer_config.json``: labels and the length limit.

        Sizes, hashes and dtypes are not known.
        """
        source, limits = _object(config, url), _object(tokenizer_config, f"tokenizer_config.json of {name}")
        try:
            return _plain(source, limits, name, task)
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


def revision_of(manifest: Mapping[str, Any]) -> str:
    """sha256 (hex) over the manifest's canonical JSON without its ``revision``: all file hashes are in it."""
    rest = {key: value for key, value in manifest.items() if key != "revision"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def tensor_to_json(tensor: Tensor) -> dict[str, Any]:
    """A tensor as the manifest stores it: ``{dtype, dims, data}``."""
    return {"dtype": tensor.dtype, "dims": list(tensor.dims), "data": list(tensor.values())}


def _tensors(source: Mapping[str, Any]) -> dict[str, Tensor]:
    return {name: Tensor.from_values(t["dtype"], t["dims"], t["data"]) for name, t in source.items()}


def _conventional_variant(dtype: str, external: object) -> Variant:
    path = f"onnx/model{SUFFIXES[dtype]}.onnx"
    # transformers.js: true for every dtype, or one entry per file name or dtype.
    has_data = external.get(path.rpartition("/")[2], external.get(dtype)) if isinstance(external, dict) else external
    files = (ModelFile(path), ModelFile(f"{path}_data")) if has_data else (ModelFile(path),)
    return Variant(dtype, files, features=("shader-f16",) if "f16" in dtype or dtype == "fp16" else ())


def _object(text: bytes | str, url: str) -> dict[str, Any]:
    try:
        source = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{url} is not JSON: {error}.", url=url) from error
    if not isinstance(source, dict):
        raise ManifestError(f"{url} is a JSON {type(source).__name__}, not an object.", url=url)
    return source


def _is(value: Any, kind: type, what: str) -> Any:
    """The value, if it is of a JSON type exactly (true is no number)."""
    if type(value) is not kind:
        raise TypeError(f"{what} is {value!r}, not {kind.__name__}")
    return value


def _texts(values: Any, what: str) -> tuple[str, ...]:
    return tuple(_is(value, str, what) for value in _is(values, list, what))


def _file(path: str, entry: Mapping[str, Any]) -> ModelFile:
    return ModelFile(
        _is(path, str, "path"), _is(entry["bytes"], int, f"bytes of {path}"), _is(entry["sha256"], str, "sha256")
    )


def _plain(source: Mapping[str, Any], limits: Mapping[str, Any], name: str, task: str) -> ModelManifest:
    labels = source.get("id2label") or {}
    external = (source.get("transformers.js_config") or {}).get("use_external_data_format", False)
    return ModelManifest(
        name=name,
        task=task,
        revision="",
        labels=tuple(_is(labels[key], str, "a label") for key in sorted(labels, key=int)),
        problem_type=_is(source.get("problem_type") or "single_label_classification", str, "problem_type"),
        max_length=length_limit(source, limits),
        inputs=(),
        variants={dtype: _conventional_variant(dtype, external) for dtype in SUFFIXES},
        packed=False,
    )


def _packed(source: Mapping[str, Any]) -> ModelManifest:
    return ModelManifest(
        name=_is(source["name"], str, "name"),
        task=_is(source["task"], str, "task"),
        revision=_is(source["revision"], str, "revision"),
        labels=_texts(source["labels"], "labels"),
        problem_type=_is(source["problem_type"], str, "problem_type"),
        max_length=_is(source["max_length"], int, "max_length"),
        inputs=_texts([entry["name"] for entry in source["inputs"]], "an input's name"),
        variants={dtype: _variant(dtype, entry) for dtype, entry in source["variants"].items()},
        files={path: _file(path, entry) for path, entry in source["files"].items()},
        golden_inputs=tuple(_tensors(sample["inputs"]) for sample in source["golden"]),
    )


def _variant(dtype: str, entry: Mapping[str, Any]) -> Variant:
    if dtype not in SUFFIXES:
        raise UnknownNameError.of("dtype", dtype, SUFFIXES)
    if not entry["files"]:
        raise ValueError(f"{dtype} has no files")
    return Variant(
        dtype=dtype,
        files=tuple(_file(f["path"], f) for f in entry["files"]),
        largest_tensor=_is(entry["largest_tensor"], int, "largest_tensor"),
        features=_texts(entry["features"], "features"),
        tolerance=float(entry["tolerance"]),
        golden_outputs=tuple(_tensors(outputs) for outputs in entry["golden"]),
    )
