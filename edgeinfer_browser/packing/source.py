"""Where a model comes from: a folder in Hugging Face layout, an .onnx file, PyTorch weights, or a hub id."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import GraphError, InputError, ManifestError
from edgeinfer_browser.manifest import SUFFIXES

#: Small files that belong to a model, by the name that they have in a folder.
SMALL_FILES = (
    "config.json",
    "preprocessor_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
#: How sentence-transformers says how embeddings are made.
EMBEDDING_FILES = ("1_Pooling/config.json", "modules.json", "sentence_bert_config.json")
TORCH_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


@dataclass(frozen=True, slots=True)
class Source:
    """A model's files: ``graphs`` by dtype, ``files`` (small ones, those that are there) by name."""

    #: As the user gave it.
    name: str
    graphs: Mapping[str, Path]
    files: Mapping[str, Path]

    def json(self, name: str) -> dict[str, Any]:
        """What a small JSON file says; ``{}`` when there is none.

        Raises:
            ManifestError: when it is not JSON, or no object.
        """
        path = self.files.get(name)
        content = {} if path is None else read_json(path)
        if not isinstance(content, dict):
            raise ManifestError(f"{path} is a JSON {type(content).__name__}, not an object.", file=str(path))
        return content

    def required(self, name: str, advice: str) -> Path:
        """A small file.

        Raises:
            ManifestError: when it is not there; ``advice`` ends the message.
        """
        if name not in self.files:
            raise ManifestError(f"{self.name} has no {name}. {advice}", file=name)
        return self.files[name]


@contextmanager
def open_source(given: str | Path, task: str, *, revision: str | None = None, **named: Path | None) -> Iterator[Source]:
    """The source that ``given`` names; what had to be fetched or exported is there until the block ends.

    Args:
        given: a path, or ``owner/name`` on the hub.
        task: what an export from PyTorch is for.
        revision: branch, tag or commit of a hub id; None is its main branch.
        named: ``config`` and ``tokenizer``: files that take the place of the source's own.

    Raises:
        InputError: when there is nothing of that name, or a package that is needed is missing.
        GraphError: when there is no graph in it, and nothing to export one from.
    """
    path = Path(given)
    with tempfile.TemporaryDirectory(prefix="edgeinfer-source-") as work:
        if path.is_file():
            source = _of_file(path)
        elif path.is_dir():
            source = _of_folder(path, task, Path(work))
        elif _HUB_ID.fullmatch(str(given)):
            source = _of_folder(_fetched(str(given), revision), task, Path(work))
        else:
            raise InputError(
                f"There is no {given}: no folder, no .onnx file, and no hub id (owner/name).", source=str(given)
            )
        yield _with_named(replace(source, name=str(given)), named)


def read_json(path: Path) -> Any:
    """A JSON file.

    Raises:
        ManifestError: when it is not there, or not JSON.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}.", file=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path} is not JSON: {error}.", file=str(path)) from error


def _of_file(path: Path) -> Source:
    suffixes = {dtype: suffix for dtype, suffix in SUFFIXES.items() if suffix and path.stem.endswith(suffix)}
    dtype = max(suffixes, key=lambda each: len(suffixes[each]), default="fp32")
    folders = [path.parent.parent, path.parent] if path.parent.resolve().name == "onnx" else [path.parent]
    return Source(
        str(path), {dtype: path}, {name: at for folder in folders for name, at in _small_files(folder).items()}
    )


def _of_folder(folder: Path, task: str, work: Path) -> Source:
    graphs = _graphs(folder)
    if graphs:
        return Source(str(folder), graphs, _small_files(folder))
    if not any((folder / name).is_file() for name in TORCH_WEIGHTS):
        others = sorted(str(path.relative_to(folder)) for path in folder.glob("**/*.onnx"))
        raise GraphError(
            f"{folder} has no graph: no onnx/model*.onnx, no model*.onnx, and no PyTorch weights. "
            + (f"It has {', '.join(others[:5])}: name one as SOURCE." if others else "Export the model to ONNX first."),
            source=str(folder),
        )
    from edgeinfer_browser.packing.export import export

    exported = export(folder, task, work / "exported")
    return Source(str(folder), _graphs(exported), _small_files(folder) | _small_files(exported))


def _graphs(folder: Path) -> dict[str, Path]:
    places = {dtype: (folder / f"onnx/model{s}.onnx", folder / f"model{s}.onnx") for dtype, s in SUFFIXES.items()}
    found = {dtype: next((path for path in paths if path.is_file()), None) for dtype, paths in places.items()}
    return {dtype: path for dtype, path in found.items() if path}


def _small_files(folder: Path) -> dict[str, Path]:
    return {name: folder / name for name in (*SMALL_FILES, *EMBEDDING_FILES) if (folder / name).is_file()}


def _fetched(hub_id: str, revision: str | None) -> Path:
    from edgeinfer_browser.packing.hub import fetch

    return fetch(hub_id, revision)


def _with_named(source: Source, named: Mapping[str, Path | None]) -> Source:
    files = dict(source.files)
    for kind, path in named.items():
        if path is None:
            continue
        if not path.is_file():
            raise InputError(f"There is no {path} (--{kind}).", path=str(path))
        files[f"{kind}.json"] = path
        beside = path.parent / f"{kind}_config.json"
        if kind == "tokenizer" and beside.is_file():
            files[beside.name] = beside
    return replace(source, files=files)
