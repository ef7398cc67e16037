"""ONNX files and their external data: which there are, how they are written, how they are listed in the manifest.

Weights in external data cost WASM memory once; inside the .onnx file they cost it two to three times.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, numpy_helper
from onnx.external_data_helper import set_external_data, uses_external_data

#: Bytes from which a tensor moves to the data file; below that, its place there costs more than it saves.
EXTERNAL_FROM = 1024
#: Shapes and axes: ONNX Runtime reads them while it loads the graph.
INLINE_TYPES = (TensorProto.INT32, TensorProto.INT64)


def save(model: onnx.ModelProto, path: Path, split_mb: float | None = None) -> list[Path]:
    """Write ``path`` and, when there is anything to put there, external data beside it; gives what was written.

    ``model`` is left as it was. The same model gives the same bytes.

    Args:
        model: weights in memory.
        path: of the .onnx file.
        split_mb: most MiB of one data file: ``<stem>.onnx_data``, ``<stem>.onnx_data_1``, ... as transformers.js names
            them; a tensor that is larger has a file of its own. None writes one file.
    """
    mine = onnx.ModelProto()
    mine.CopyFrom(model)
    written = [path]
    for number, tensors in enumerate(_data_files(mine.graph.initializer, split_mb)):
        data = path.with_suffix(f".onnx_data{f'_{number}' if number else ''}")
        data.unlink(missing_ok=True)  # onnx appends to a data file that exists
        for tensor in tensors:
            tensor.CopyFrom(
                numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
            )  # raw_data can move out
            set_external_data(tensor, data.name)
        written.append(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(mine, str(path))
    for data in written[1:]:
        data.chmod(path.stat().st_mode)  # onnx makes it readable by its owner only
    return written


def _data_files(tensors: Iterable[TensorProto], split_mb: float | None) -> list[list[TensorProto]]:
    """The tensors that move out of the .onnx file, in their order, file by file."""
    most = math.inf if split_mb is None else split_mb * 2**20
    files: list[list[TensorProto]] = []
    size = math.inf
    for tensor in tensors:
        nbytes = numpy_helper.to_array(tensor).nbytes
        if nbytes < EXTERNAL_FROM or tensor.data_type in INLINE_TYPES:
            continue
        if size + nbytes > most or not files:
            files.append([])
            size = 0
        files[-1].append(tensor)
        size += nbytes
    return files


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
