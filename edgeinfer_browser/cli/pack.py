"""Make a model folder that browser and server can both trust.

SOURCE is a folder in Hugging Face layout (config.json, tokenizer.json, onnx/model*.onnx). OUT gets its files and
edgeinfer.json: bytes and sha256 of each file, labels, and golden samples with what native ONNX Runtime answers to them.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx.external_data_helper import uses_external_data

from edgeinfer_browser.backends.onnxruntime_native import OnnxRuntimeNative
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import (
    FORMAT,
    SUFFIXES,
    ModelFile,
    ModelManifest,
    Variant,
    length_limit,
    revision_of,
    tensor_to_json,
)
from edgeinfer_browser.pipelines import TASKS
from edgeinfer_browser.pipelines.base import text_feeds
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import model_tokenizer

#: Small files that belong to a model; config.json and tokenizer.json must be there.
SMALL_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")

#: Short, long, empty and not only ASCII: what golden samples must cover.
GOLDEN_TEXTS = (
    "I love it",
    "",
    "Ein schöner Tag in Zürich – naïve façade, 東京, ☕ and 👩‍👩‍👧!",
    " ".join(["The plot drags, the jokes fall flat, and yet the ending won me over."] * 8),
)

#: Largest absolute difference of a logit that still counts as agreement. int8 kernels round activations differently
#: on each instruction set, so q8 needs room; fp32 differs only by the order of its sums.
TOLERANCES = {"fp32": 0.01, "fp16": 0.1, "q8": 0.25, "q4": 0.25, "q4f16": 0.25}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("source", type=Path, metavar="SOURCE", help="model folder in Hugging Face layout")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to make; its name becomes the model's name")
    parser.add_argument("--task", required=True, choices=sorted(TASKS), help="what the model is for")
    parser.add_argument("--license", default="", help="the model's licence, kept in edgeinfer.json")
    parser.add_argument("--attribution", action="append", default=[], help="who must be named (may be repeated)")


def main(arguments: argparse.Namespace) -> int:
    """Pack, and say what was made."""
    manifest = pack(
        arguments.source,
        arguments.out,
        TASKS[arguments.task].task,
        licence=arguments.license,
        attribution=arguments.attribution,
    )
    for dtype, variant in manifest["variants"].items():
        size = sum(file["bytes"] for file in variant["files"])
        worst = variant["agreement"]["max_abs_difference"]
        print(f"{dtype:6} {size / 1e6:7.1f} MB   largest difference to fp32 on the golden samples: {worst:.4g}")
    print(f"{arguments.out}: revision {manifest['revision'][:12]}")
    return 0


def pack(
    source: Path,
    out: Path,
    task: str,
    *,
    licence: str = "",
    attribution: Sequence[str] = (),
) -> dict[str, Any]:
    """Copy the model's files to ``out`` and write ``out/edgeinfer.json``; returns what was written.

    Raises:
        ManifestError: when the source lacks a file, or its config.json lacks the labels.
    """
    config = json.loads(_required(source, "config.json").read_text("utf-8"))
    _required(source, "tokenizer.json")
    dtypes = [dtype for dtype, suffix in SUFFIXES.items() if (source / f"onnx/model{suffix}.onnx").is_file()]
    if not dtypes:
        raise ManifestError(f"{source} has no onnx/model*.onnx. Export the model to ONNX first.", source=str(source))
    small = [name for name in SMALL_FILES if (source / name).is_file()]
    graphs = {dtype: _graph_files(source, dtype) for dtype in dtypes}
    _copy([*small, *(path for paths in graphs.values() for path in paths)], source, out)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "name": out.resolve().name,
        "task": task,
        "license": licence,
        "attribution": list(attribution),
        "labels": _labels(config, source),
        "problem_type": config.get("problem_type") or "single_label_classification",
        "max_length": length_limit(config, _tokenizer_config(source)),
        **_interface(out / graphs[dtypes[0]][0]),
        "files": {name: _entry(out, name) for name in small},
    }
    manifest |= asyncio.run(_measured(out, manifest, graphs))
    manifest["revision"] = revision_of(manifest)
    (out / "edgeinfer.json").write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", "utf-8")
    return manifest


async def _measured(out: Path, manifest: Mapping[str, Any], graphs: Mapping[str, list[str]]) -> dict[str, Any]:
    """The golden samples, and each variant with its files and its answers to them."""
    tokenizer = model_tokenizer((out / "tokenizer.json").read_bytes(), manifest["max_length"])
    names = [entry["name"] for entry in manifest["inputs"]]
    samples = [text_feeds(tokenizer, text, names, manifest["name"]) for text in GOLDEN_TEXTS]
    answers = {dtype: await _answers(out, dtype, paths, samples) for dtype, paths in graphs.items()}
    reference = answers.get("fp32") or next(iter(answers.values()))
    return {
        "golden": [
            {"text": text, "inputs": {name: tensor_to_json(t) for name, t in feeds.items()}}
            for text, feeds in zip(GOLDEN_TEXTS, samples, strict=True)
        ],
        "variants": {
            dtype: {
                "files": [{"path": path, **_entry(out, path)} for path in paths],
                "largest_tensor": _largest_tensor(out / paths[0]),
                "features": ["shader-f16"] if "f16" in dtype or dtype == "fp16" else [],
                "tolerance": TOLERANCES[dtype],
                "golden": [{name: tensor_to_json(t) for name, t in outputs.items()} for outputs in answers[dtype]],
                "agreement": {"max_abs_difference": _difference(answers[dtype], reference)},
            }
            for dtype, paths in graphs.items()
        },
    }


async def _answers(
    out: Path, dtype: str, paths: Sequence[str], samples: Sequence[Mapping[str, Tensor]]
) -> list[dict[str, Tensor]]:
    variant = Variant(dtype, tuple(ModelFile(path) for path in paths))
    manifest = ModelManifest(out.name, "", "", (), "", 0, (), {dtype: variant})
    backend = OnnxRuntimeNative(ModelFolder(NativeBridge(), f"{out}/"), manifest, dtype)
    await backend.load()
    return await backend.run_many(samples)


def _difference(left: Sequence[Mapping[str, Tensor]], right: Sequence[Mapping[str, Tensor]]) -> float:
    pairs = [
        abs(a - b)
        for one, other in zip(left, right, strict=True)
        for name in one
        for a, b in zip(one[name].values(), other[name].values(), strict=True)
    ]
    return max(pairs, default=0.0)


def _required(source: Path, name: str) -> Path:
    if not (source / name).is_file():
        raise ManifestError(f"{source} has no {name}. A model folder in Hugging Face layout needs one.", file=name)
    return source / name


def _labels(config: Mapping[str, Any], source: Path) -> list[str]:
    labels = config.get("id2label")
    if not labels:
        raise ManifestError(f"{source}/config.json has no id2label, so the labels are not known. Add it.")
    return [labels[key] for key in sorted(labels, key=int)]


def _tokenizer_config(source: Path) -> dict[str, Any]:
    path = source / "tokenizer_config.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}


def _graph_files(source: Path, dtype: str) -> list[str]:
    """The .onnx file and the external data files that its initializers name."""
    path = f"onnx/model{SUFFIXES[dtype]}.onnx"
    model = onnx.load(source / path, load_external_data=False)
    tensors = [tensor for tensor in model.graph.initializer if uses_external_data(tensor)]
    locations = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return [path, *(f"onnx/{location}" for location in sorted(locations))]


def _interface(path: Path) -> dict[str, Any]:
    """Inputs and outputs as ``{name, dtype, dims}``; a dynamic dim is its name."""
    graph = onnx.load(path, load_external_data=False).graph
    return {"inputs": [_value(v) for v in graph.input], "outputs": [_value(v) for v in graph.output]}


def _value(info: onnx.ValueInfoProto) -> dict[str, Any]:
    kind = info.type.tensor_type
    dims = [dim.dim_param or dim.dim_value for dim in kind.shape.dim]
    return {"name": info.name, "dtype": onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name, "dims": dims}


def _largest_tensor(path: Path) -> int:
    graph = onnx.load(path, load_external_data=False).graph
    sizes = [
        math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in graph.initializer
    ]
    return max(sizes, default=0)


def _copy(paths: Sequence[str], source: Path, out: Path) -> None:
    for path in paths:
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or not target.samefile(source / path):
            shutil.copyfile(source / path, target)


def _entry(folder: Path, path: str) -> dict[str, Any]:
    with (folder / path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": (folder / path).stat().st_size, "sha256": digest}
