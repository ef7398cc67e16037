"""ONNX files and their external data: which there are, how they are written, how they are listed in the manifest.

Weights in external data cost WASM memory once; inside the .onnx file they cost it two to three times.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, numpy_helper
from onnx.external_data_helper import set_external_data, uses_external_data

#: Bytes from which a tensor moves to the data file; below that, its place there costs more than it saves.
EXTERNAL_FROM = 1024
#: Shapes and axes: ONNX Runtime reads them while it loads the graph.
INLINE_TYPES = (TensorProto.INT32, TensorProto.INT64)


def save(model: onnx.ModelProto, path: Path) -> list[Path]:
    """Write ``path`` and, when there is anything to put there, ``<stem>.onnx_data`` beside it; gives what was written.

    ``model`` is left as it was. The same model gives the same bytes.
    """
    mine = onnx.ModelProto()
    mine.CopyFrom(model)
    data = path.with_suffix(".onnx_data")
    data.unlink(missing_ok=True)  # onnx appends to a data file that exists
    for tensor in mine.graph.initializer:
        _move_out(tensor, data.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(mine, str(path))
    if not data.exists():
        return [path]
    data.chmod(path.stat().st_mode)  # onnx makes it readable by its owner only
    return [path, data]


def _move_out(tensor: TensorProto, location: str) -> None:
    values = numpy_helper.to_array(tensor)
    if values.nbytes >= EXTERNAL_FROM and tensor.data_type not in INLINE_TYPES:
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))  # only raw_data can move out
        set_external_data(tensor, location)


def external_files(path: Path) -> list[Path]:
    """The external data files that the initializers of an .onnx file name, sorted."""
    graph = onnx.load(str(path), load_external_data=False).graph
    tensors = [tensor for tensor in graph.initializer if uses_external_data(tensor)]
    locations = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return [path.parent / location for location in sorted(locations)]


def file_entry(path: Path) -> dict[str, Any]:
    """``{bytes, sha256}`` of a file, as edgeinfer.json has them."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
