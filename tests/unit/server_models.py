"""Models for the server's tests: folders packed by hand, with graphs that do one thing each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from edgeinfer_browser.manifest import revision_of
from tests import tiny_model
from tests.unit.fakes import entry

Value = onnx.ValueInfoProto


def tiny(models: Path, name: str = "tiny") -> Path:
    """The tiny text classifier, packed below ``models``."""
    return tiny_model.make(models / name, models.parent / f"{name}-source")


def write(models: Path, name: str, graph: onnx.GraphProto) -> Path:
    """A folder with one fp32 variant of a graph, for a task that no pipeline does."""
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    data = made.SerializeToString()
    (models / name / "onnx").mkdir(parents=True)
    (models / name / "onnx/model.onnx").write_bytes(data)
    source: dict[str, Any] = {
        "format": 1,
        "name": name,
        "task": "tensors-to-tensors",
        "labels": [],
        "problem_type": "",
        "max_length": 8,
        "inputs": [{"name": value.name} for value in graph.input],
        "files": {},
        "golden": [],
        "variants": {
            "fp32": {
                "files": [entry("onnx/model.onnx", data)],
                "largest_tensor": 0,
                "features": [],
                "tolerance": 0.01,
                "golden": [],
            }
        },
    }
    (models / name / "edgeinfer.json").write_text(json.dumps({**source, "revision": revision_of(source)}))
    return models / name


def kinds(models: Path) -> Path:
    """An input of several datatypes each, given back as it came; ``ratio`` is 1 / ``real``."""
    types = {
        "real": TensorProto.FLOAT,
        "half": TensorProto.FLOAT16,
        "byte": TensorProto.UINT8,
        "flag": TensorProto.BOOL,
    }
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in types]
    nodes += [
        helper.make_node("Reciprocal", ["real"], ["ratio"]),
    ]
    inputs = [_value(name, kind, ["n", 2]) for name, kind in types.items()]
    outputs = [_value(f"{name}_out", kind, ["n", 2]) for name, kind in types.items()]
    return write(models, "kinds", helper.make_graph(nodes, "kinds", inputs, [*outputs, _float("ratio", ["n", 2])]))


def revision(folder: Path) -> str:
    """What the manifest of a folder says."""
    told: str = json.loads((folder / "edgeinfer.json").read_text())["revision"]
    return told


def _value(name: str, kind: int, dims: Sequence[str | int]) -> Value:
    return helper.make_tensor_value_info(name, kind, list(dims))


def _float(name: str, dims: Sequence[str | int]) -> Value:
    return _value(name, TensorProto.FLOAT, dims)
