"""A variant's files on their way into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from edgeinfer_browser.errors import UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.packing.files import save
from edgeinfer_browser.packing.graph_file import bytes_of
from edgeinfer_browser.packing.operators import all_nodes

_HALF = {TensorProto.FLOAT16}


@dataclass(frozen=True, slots=True)
class Written:
    """A variant's files, relative to the folder (.onnx first), and what is told of it."""

    files: tuple[str, ...]
    method: str
    features: tuple[str, ...]
    largest_tensor: int
    warnings: tuple[str, ...] = ()


def write_variant(
    folder: Path, dtype: str, model: onnx.ModelProto, method: str, split_mb: float | None = None
) -> Written:
    """Write a variant's files below ``folder``.

    Raises:
        UnknownNameError: for a dtype that does not exist.
    """
    if dtype not in SUFFIXES:
        raise UnknownNameError.of("dtype", dtype, SUFFIXES)
    paths = save(model, folder / f"onnx/model{SUFFIXES[dtype]}.onnx", split_mb)
    return Written(
        files=tuple(str(path.relative_to(folder)) for path in paths),
        method=method,
        features=("shader-f16",) if _computes_in_half(model) else (),
        largest_tensor=max(map(bytes_of, model.graph.initializer), default=0),
        warnings=tuple(_too_large(path, split_mb) for path in paths[1:] if _exceeds(path, split_mb)),
    )


def _computes_in_half(model: onnx.ModelProto) -> bool:
    """Whether a kernel works on 16-bit floats. Weights that are only stored so are cast to float32 while loading."""
    nodes = list(all_nodes(model.graph))
    half = {tensor.name for tensor in model.graph.initializer if tensor.data_type in _HALF}
    half |= {node.output[0] for node in nodes if node.op_type == "Constant" and _constant_type(node) in _HALF}
    return any(
        helper.get_node_attr_value(node, "to") in _HALF if node.op_type == "Cast" else half & {*node.input}
        for node in nodes
    )


def _constant_type(node: onnx.NodeProto) -> int:
    return next((attribute.t.data_type for attribute in node.attribute if attribute.name == "value"), 0)


def _exceeds(path: Path, split_mb: float | None) -> bool:
    return split_mb is not None and path.stat().st_size > split_mb * 2**20


def _too_large(path: Path, split_mb: float | None) -> str:
    size = path.stat().st_size / 2**20
    return f"{path.name} has {size:.1f} MiB, more than the {split_mb:g} asked for: one tensor, which cannot be split."
