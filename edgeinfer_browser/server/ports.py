"""Ports: a session's inputs and outputs as the Open Inference Protocol tells them, and the check of what is fed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.wire import DATATYPES

#: Where ONNX Runtime's type names ("tensor(float)") are not those of our dtypes.
_ONNX_NAMES = {"float": "float32", "double": "float64"}


@dataclass(frozen=True, slots=True)
class Port:
    """One input or output; a dim is a number, the name of a dynamic axis, or None."""

    name: str
    datatype: str
    dims: tuple[int | str | None, ...]

    @classmethod
    def of(cls, node: Any) -> Port:
        """From a ``NodeArg`` of onnxruntime."""
        kind = node.type.removeprefix("tensor(").removesuffix(")")
        return cls(node.name, DATATYPES.get(_ONNX_NAMES.get(kind, kind), kind.upper()), tuple(node.shape))

    def to_json(self) -> dict[str, Any]:
        """As model metadata has it: -1 for a dynamic dim."""
        return {"name": self.name, "datatype": self.datatype, "shape": [_size(dim) for dim in self.dims]}


def check_feeds(feeds: Mapping[str, Tensor], ports: Sequence[Port]) -> None:
    """Refuse what the session would refuse, before it is queued and with a better message.

    Raises:
        InputError: naming the input and what is expected of it.
    """
    for name in feeds:
        find(name, ports, "input")
    axes: dict[str, tuple[int, str]] = {}
    for port in ports:
        tensor = feeds.get(port.name)
        if tensor is None:
            raise InputError(f"Input {port.name!r} is missing; expected is {_expected(port)}.", name=port.name)
        if not _fits(tensor, port):
            given = f"{DATATYPES[tensor.dtype]} of shape {list(tensor.dims)}"
            raise InputError(f"Input {port.name!r} is {given}; expected is {_expected(port)}.", name=port.name)
        _check_axes(tensor, port, axes)


def find(name: object, ports: Sequence[Port], kind: str) -> Port:
    """The port of a name, which is whatever the client sent.

    Raises:
        UnknownNameError: listing the names that exist.
    """
    for port in ports:
        if port.name == name:
            return port
    raise UnknownNameError.of(kind, name, [port.name for port in ports])


def _fits(tensor: Tensor, port: Port) -> bool:
    if DATATYPES[tensor.dtype] != port.datatype:
        return False
    # ONNX Runtime tells an unknown rank as it tells a scalar, so there the session decides.
    if not port.dims:
        return True
    return len(tensor.dims) == len(port.dims) and all(
        actual == wanted or not isinstance(wanted, int) for actual, wanted in zip(tensor.dims, port.dims, strict=True)
    )


def _check_axes(tensor: Tensor, port: Port, axes: dict[str, tuple[int, str]]) -> None:
    """One name of a dynamic axis is one size, in whichever inputs it stands (the ONNX specification's rule)."""
    for size, axis in zip(tensor.dims, port.dims, strict=False):
        if not isinstance(axis, str) or not axis:
            continue
        known, first = axes.setdefault(axis, (size, port.name))
        if size != known:
            raise InputError(
                f"Input {port.name!r} has shape {list(tensor.dims)}, but its axis {axis!r} has size {known} in "
                f"{first!r}; expected is {known}.",
                name=port.name,
            )


def _expected(port: Port) -> str:
    return f"{port.datatype} of shape {[_size(dim) for dim in port.dims]} (-1: any size)"


def _size(dim: int | str | None) -> int:
    return dim if isinstance(dim, int) else -1
