"""Read an .onnx file with all its weights, and refuse what is not whole, by name and with the bytes that are missing.

ONNX Runtime would refuse most of it too, later and in its own words; a file full of zeros it would run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import GraphProto, TensorProto, helper
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from edgeinfer_browser.errors import GraphError

_LFS = b"version https://git-lfs"
#: A matrix of this many bytes or more is never all zeros in a trained model; a bias, or RoBERTa's one type, may be.
_NEVER_ZERO_FROM = 65536
#: protobuf's limit for one message: a graph with its weights must fit to be worked on in memory.
_MOST_BYTES = 2**31 - 1


def load_graph(path: Path) -> onnx.ModelProto:
    """The model with its weights in memory.

    Raises:
        GraphError: when the file or its external data is missing, truncated, zero-filled, a Git-LFS pointer, no ONNX,
            without any operator, or larger than 2 GB.
    """
    model = _parse(path)
    if not model.graph.node:
        raise GraphError(
            f"{path} has no graph: there is not one operator in it. Export the model again.", path=str(path)
        )
    tensors = list(all_tensors(model.graph))
    for location in sorted({_location(tensor) for tensor in tensors if uses_external_data(tensor)}):
        _check_data_file(path, location, [t for t in tensors if uses_external_data(t) and _location(t) == location])
    for tensor in tensors:
        if uses_external_data(tensor):
            _take_in(tensor, path.parent)
        _check_values(tensor, path)
    return model


def all_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Every tensor with values: initializers, and those in attributes, of the graph and of the graphs inside it."""
    yield from graph.initializer
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for inner in (attribute.g, *attribute.graphs):
            yield from all_tensors(inner)


def _parse(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise GraphError(f"There is no {path}. Export the model to ONNX first.", path=str(path))
    with path.open("rb") as file:
        start = file.read(4096)
    _refuse_pointer(start, path)
    if not start.strip(b"\0"):
        raise GraphError(
            f"{path} is {'empty' if not start else 'filled with zeros'} ({path.stat().st_size} bytes): a download that "
            "did not finish. Fetch it again.",
            path=str(path),
        )
    try:
        return onnx.load(str(path), load_external_data=False)
    except DecodeError as error:
        raise GraphError(
            f"{path} ({path.stat().st_size} bytes) is no whole ONNX file: {error}. It was truncated, or is something "
            "else; fetch or export it again.",
            path=str(path),
            actual=path.stat().st_size,
        ) from error


def _location(tensor: TensorProto) -> str:
    return str(ExternalDataInfo(tensor).location)


def _check_data_file(path: Path, location: str, tensors: list[TensorProto]) -> None:
    """The file is there, inside the folder, long enough for its tensors, and not all zeros."""
    data = path.parent / location
    if Path(location).is_absolute() or ".." in Path(location).parts:
        raise GraphError(
            f"{path} wants weights from {location!r}, outside its folder. That is refused.", path=str(path)
        )
    if not data.is_file():
        raise GraphError(
            f"{path} keeps weights in {location!r}, and {data} is not there. Put the file beside the .onnx file, under "
            "that very name.",
            path=str(data),
        )
    with data.open("rb") as file:
        _refuse_pointer(file.read(100), data)
    _check_length(data, max(_end(tensor) for tensor in tensors))
    if data.stat().st_size and _is_zero(data):
        raise GraphError(
            f"{data} is filled with zeros: a download that did not finish. Fetch it again.", path=str(data)
        )


def _take_in(tensor: TensorProto, folder: Path) -> None:
    """Read a tensor from its data file. onnx's own reader refuses links, which the hub's cache is made of."""
    info = ExternalDataInfo(tensor)
    with (folder / _location(tensor)).open("rb") as file:
        file.seek(int(info.offset or 0))
        tensor.raw_data = file.read(int(info.length) if info.length else bytes_of(tensor))
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _check_length(data: Path, expected: int) -> None:
    actual = data.stat().st_size
    if expected > _MOST_BYTES:
        raise GraphError(f"{data} has {expected} bytes of weights; more than 2 GB fits no browser.", path=str(data))
    if actual < expected:
        raise GraphError(
            f"{data} is truncated: its weights need {expected} bytes, and it has {actual}. Fetch it again.",
            path=str(data),
            expected=expected,
            actual=actual,
        )


def _end(tensor: TensorProto) -> int:
    """The byte after a tensor's last in its data file."""
    info = ExternalDataInfo(tensor)
    length = int(info.length) if info.length else bytes_of(tensor)
    return int(info.offset or 0) + length


def bytes_of(tensor: TensorProto) -> int:
    """Bytes that a tensor's raw values take; 4-bit and 2-bit ones are packed."""
    if tensor.data_type == TensorProto.STRING:
        return 0
    name = TensorProto.DataType.Name(tensor.data_type)
    bits = next((bits for kind, bits in {"INT4": 4, "FLOAT4": 4, "INT2": 2}.items() if kind in name), 0)
    itemsize: float = bits / 8 if bits else helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    size: int = math.ceil(math.prod(tensor.dims) * itemsize)
    return size


def _check_values(tensor: TensorProto, path: Path) -> None:
    """Raw values are as many as the dims say, and a matrix is not all zeros."""
    raw = tensor.raw_data
    if not raw:
        return
    expected = bytes_of(tensor)
    if len(raw) != expected:
        raise GraphError(
            f"{path}: the weight {tensor.name!r} of dims {list(tensor.dims)} needs {expected} bytes, and has "
            f"{len(raw)}. The file is damaged; fetch or export it again.",
            path=str(path),
            expected=expected,
            actual=len(raw),
        )
    if len(tensor.dims) > 1 and expected >= _NEVER_ZERO_FROM and raw.count(0) == expected:
        raise GraphError(
            f"{path}: the weight {tensor.name!r} of dims {list(tensor.dims)} is all zeros: the file was not filled to "
            "its end. Fetch it again.",
            path=str(path),
        )


def _is_zero(data: Path) -> bool:
    with data.open("rb") as file:
        return all(block.count(0) == len(block) for block in iter(lambda: file.read(2**20), b""))


def _refuse_pointer(start: bytes, path: Path) -> None:
    if start.startswith(_LFS):
        raise GraphError(
            f"{path} is a Git-LFS pointer, not the file itself. Run `git lfs pull` in its repository, or download it.",
            path=str(path),
        )
