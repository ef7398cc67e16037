"""Tensors hold what they were given, without copies, and refuse what does not fit."""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.tensors import DTYPES, Tensor


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_come_back_as_numpy_reads_them(dtype: str) -> None:
    tensor = Tensor.from_values(dtype, [2, 2], [0, 1, 1, 0])
    assert tensor.rows() == [[0, 1], [1, 0]]
    assert tensor.numpy().dtype.name == dtype
    assert tensor.numpy().tolist() == [[0, 1], [1, 0]]
    assert Tensor.from_numpy(tensor.numpy()).data == tensor.data


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_any_int64_survives(values: list[int]) -> None:
    assert list(Tensor.from_values("int64", [len(values)], values).values()) == values


@given(st.lists(st.floats(width=16, allow_nan=False)))
def test_any_float16_survives(values: list[float]) -> None:
    assert list(Tensor.from_values("float16", [len(values)], values).values()) == values


def test_a_tensor_views_the_memory_it_was_given() -> None:
    buffer = bytearray(8)
    tensor = Tensor.of("float32", [2], buffer)
    buffer[:4] = array("f", [2.5]).tobytes()
    assert list(tensor.values()) == [2.5, 0.0]
    assert tensor.numpy().tolist() == [2.5, 0.0]


def test_a_strided_numpy_array_is_read_in_row_major_order() -> None:
    values = np.arange(6, dtype="int32").reshape(2, 3).T
    assert Tensor.from_numpy(values).rows() == [[0, 3], [1, 4], [2, 5]]


def test_a_big_endian_numpy_array_is_turned_round() -> None:
    assert list(Tensor.from_numpy(np.array([1.5, -2.0], dtype=">f4")).values()) == [1.5, -2.0]


@pytest.mark.parametrize("dims", [(0,), (1, 0), (0, 3)])
def test_an_empty_tensor_is_a_tensor(dims: tuple[int, ...]) -> None:
    tensor = Tensor.from_values("float32", dims, [])
    assert list(tensor.values()) == []
    assert tensor.rows() == []
    assert tensor.numpy().shape == dims
    assert Tensor.from_numpy(tensor.numpy()).dims == dims


def test_a_scalar_has_no_dims_and_one_element() -> None:
    tensor = Tensor.from_numpy(np.array(3, dtype="int64"))
    assert (tensor.dims, list(tensor.values()), tensor.rows()) == ((), [3], [[3]])


def test_values_at_an_odd_address_are_read_right() -> None:
    buffer = b"\xff" + array("q", [-5, 7]).tobytes()
    assert list(Tensor.of("int64", [2], memoryview(buffer)[1:]).values()) == [-5, 7]


def test_non_finite_values_are_kept() -> None:
    first, second = Tensor.from_values("float32", [2], [math.nan, -math.inf]).values()
    assert math.isnan(first)
    assert second == -math.inf


@pytest.mark.parametrize(
    ("dims", "size"), [([2], 4), ([2], 12), ([], 8), ([0], 4), ([-1, -1], 4), ([-1], 4), ([0.5, 2], 4), ([True], 4)]
)
def test_dims_that_do_not_fit_the_buffer_are_refused_with_the_dims(dims: list[Any], size: int) -> None:
    with pytest.raises(InputError, match="dims") as caught:
        Tensor.of("float32", dims, bytes(size))
    assert caught.value.details["dims"] == dims


@pytest.mark.parametrize("make", [lambda: Tensor.of("str", [1], b"a"), lambda: Tensor.from_values("bf16", [1], [1])])
def test_an_unknown_dtype_is_refused_with_the_known_ones(make: Any) -> None:
    with pytest.raises(UnknownNameError, match="float16, float32"):
        make()


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("int8", [128]), ("uint8", [-1]), ("int64", [1.5]), ("int64", [2**63]), ("float16", [1e9]), ("float32", ["a"])],
)
def test_values_that_do_not_fit_the_dtype_are_refused_with_its_name(dtype: str, values: list[Any]) -> None:
    with pytest.raises(InputError, match=dtype):
        Tensor.from_values(dtype, [1], values)
