"""Tensor: name-free data with a dtype and dims, on any buffer (PEP 3118), with or without numpy.

dtypes carry ONNX Runtime's names (``float32``, ``int64``, ...); data is little-endian and row-major, as
WebAssembly, ONNX and the Open Inference Protocol all have it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from edgeinfer_browser.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    import numpy

#: dtype -> (bytes per element, format character of :mod:`array` and :mod:`struct`). ``bool`` is one byte each.
DTYPES: dict[str, tuple[int, str]] = {
    "float32": (4, "f"),
    "float64": (8, "d"),
    "float16": (2, "e"),
    "int8": (1, "b"),
    "int16": (2, "h"),
    "int32": (4, "i"),
    "int64": (8, "q"),
    "uint8": (1, "B"),
    "uint16": (2, "H"),
    "uint32": (4, "I"),
    "uint64": (8, "Q"),
    "bool": (1, "?"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An n-dimensional array: ``data`` holds ``prod(dims)`` elements of ``dtype``, row-major, little-endian.

    Raises:
        UnknownNameError: for a dtype outside :data:`DTYPES`.
        InputError: when the buffer's size does not fit ``dims``.
    """

    dtype: str
    dims: tuple[int, ...]
    data: memoryview

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UnknownNameError.of("tensor dtype", self.dtype, DTYPES)
        if not all(type(dim) is int and dim >= 0 for dim in self.dims):
            raise InputError(f"dims must be integers of 0 or more, not {list(self.dims)}.", dims=list(self.dims))
        wanted = math.prod(self.dims) * DTYPES[self.dtype][0]
        if self.data.nbytes != wanted:
            raise InputError(
                f"A {self.dtype} tensor of dims {list(self.dims)} has {wanted} bytes, but the buffer has "
                f"{self.data.nbytes}. Check dims against the data.",
                dims=list(self.dims),
                expected=wanted,
                actual=self.data.nbytes,
            )

    @classmethod
    def of(cls, dtype: str, dims: Sequence[int], buffer: Any) -> Tensor:
        """A tensor over any contiguous buffer (bytes, ``array``, numpy array), without a copy."""
        view = memoryview(buffer)
        flat = view if view.ndim == 1 and view.format == "B" else view.cast("B") if view.nbytes else memoryview(b"")
        return cls(dtype, tuple(dims), flat)

    @classmethod
    def from_values(cls, dtype: str, dims: Sequence[int], values: Iterable[float]) -> Tensor:
        """A tensor from numbers in row-major order. ``float16`` and ``bool`` are packed by :mod:`struct`.

        Raises:
            InputError: when a value does not fit the dtype.
        """
        code = DTYPES[dtype][1] if dtype in DTYPES else ""
        try:
            if code in {"e", "?"}:
                import struct

                numbers = list(values)
                return cls.of(dtype, dims, struct.pack(f"<{len(numbers)}{code}", *numbers))
            return cls.of(dtype, dims, array(code, values) if code else b"")
        except (TypeError, OverflowError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"Values do not fit a {dtype} tensor: {error}.", dtype=dtype) from error

    @classmethod
    def from_numpy(cls, values: numpy.ndarray[Any, Any]) -> Tensor:
        """A tensor over a numpy array's own memory (copied only when it is not contiguous)."""
        import numpy as np

        # A big-endian array has the same dtype name; its bytes are turned round.
        little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        return cls.of(values.dtype.name, values.shape, little)

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """A numpy view of the same memory. Needs numpy, which a page may or may not have loaded."""
        import numpy as np

        return np.frombuffer(self.data, dtype=self.dtype).reshape(self.dims)

    def values(self) -> Sequence[Any]:
        """The elements as a flat sequence of Python numbers, row-major (a view where the dtype allows it)."""
        code = DTYPES[self.dtype][1]
        if code == "e":
            import struct

            return struct.unpack(f"<{self.data.nbytes // 2}e", self.data)
        # The character comes from DTYPES, so it is one that cast() knows.
        return self.data.cast(cast("Literal['f']", code)) if self.data.nbytes else ()

    def rows(self) -> list[list[Any]]:
        """The elements of the last axis, one list per row: dims ``[2, 3]`` give two lists of three."""
        flat, width = self.values(), (self.dims[-1] if self.dims else 1)
        return [list(flat[at : at + width]) for at in range(0, len(flat), width)] if width else []
