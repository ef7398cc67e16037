"""wire: round trips in JSON and in bytes, and no message, however broken, that gives another error than InputError."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.tensors import DTYPES, Tensor
from edgeinfer_browser.wire import (
    BINARY_TYPE,
    DATATYPES,
    HEADER_LENGTH,
    JSON_TYPE,
    from_frame,
    infer_request,
    infer_response,
    parse_message,
    to_frame,
)

VALUES: dict[str, list[float]] = {
    **{dtype: [0, 1, 2, 3, 4, 5] for dtype in DTYPES},
    "bool": [True, False, True, False, False, True],
    "float16": [0.5, -2.0, 1.0, 0.0, 65504.0, -0.25],
    "int64": [-(2**63), 2**63 - 1, 0, -1, 1, 2**53 + 1],
    "uint64": [2**64 - 1, 0, 1, 2, 3, 4],
}


def every_dtype() -> dict[str, Tensor]:
    return {dtype: Tensor.from_values(dtype, [2, 3], values) for dtype, values in VALUES.items()}


def contents(tensors: dict[str, Tensor]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (t.dtype, t.dims, bytes(t.data)) for name, t in tensors.items()}


def message(*entries: Any, **head: Any) -> bytes:
    return json.dumps({"inputs": list(entries), **head}).encode()


def an_input(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "shape": [2], "datatype": "INT64", "data": [1, 2], **changes}


def test_a_frame_gives_back_what_went_in() -> None:
    assert contents(from_frame(*to_frame(every_dtype()))) == contents(every_dtype())


def test_a_frame_of_nothing() -> None:
    assert from_frame(*to_frame({})) == {}


def test_a_binary_request_gives_back_what_went_in() -> None:
    body, headers = infer_request(every_dtype(), request_id="7", revision="r1")
    head, tensors = parse_message(body, headers[HEADER_LENGTH], "inputs")
    assert contents(tensors) == contents(every_dtype())
    assert head["id"] == "7"
    assert head["parameters"] == {"binary_data_output": True, "revision": "r1"}
    assert headers["Content-Type"] == BINARY_TYPE


@pytest.mark.parametrize("binary", [frozenset(), frozenset(DTYPES), frozenset({"int64", "bool"})], ids=len)
def test_a_response_gives_back_what_went_in(binary: frozenset[str]) -> None:
    body, headers = infer_response(
        every_dtype(), binary, model_name="tiny", model_version="r1", request_id=None if binary else "7"
    )
    head, tensors = parse_message(body, headers.get(HEADER_LENGTH), "outputs")
    assert contents(tensors) == contents(every_dtype())
    assert (head["model_name"], head["model_version"]) == ("tiny", "r1")
    assert head.get("id") == (None if binary else "7")
    assert headers["Content-Type"] == (BINARY_TYPE if binary else JSON_TYPE)
    assert (HEADER_LENGTH in headers) == bool(binary)


def test_values_that_json_has_no_word_for_become_null() -> None:
    tensors = {"x": Tensor.from_values("float32", [3], [float("nan"), float("inf"), 1.0])}
    body, _ = infer_response(tensors, frozenset(), model_name="m", model_version="1", request_id=None)
    assert json.loads(body)["outputs"][0]["data"] == [None, None, 1.0]


def test_nested_lists_are_flat_data() -> None:
    _, tensors = parse_message(message(an_input(shape=[2, 2], data=[[1, 2], [3, 4]])), None, "inputs")
    assert tensors["x"].rows() == [[1, 2], [3, 4]]


def test_a_scalar_and_an_empty_tensor() -> None:
    body = message(an_input(shape=[], data=5), an_input(name="y", shape=[0, 3], data=[]))
    _, tensors = parse_message(body, None, "inputs")
    assert list(tensors["x"].values()) == [5]
    assert tensors["y"].dims == (0, 3)


def test_binary_and_json_inputs_in_one_message() -> None:
    head = message(
        an_input(name="a", data=None, parameters={"binary_data_size": 16}),
        an_input(name="b"),
        an_input(name="c", datatype="UINT8", data=None, parameters={"binary_data_size": 2}),
    )
    payload = bytes(Tensor.from_values("int64", [2], [7, 8]).data) + b"\x05\x06"
    _, tensors = parse_message(head + payload, str(len(head)), "inputs")
    assert {name: list(t.values()) for name, t in tensors.items()} == {"a": [7, 8], "b": [1, 2], "c": [5, 6]}


HUGE = "9" * 5000

MALFORMED: dict[str, tuple[bytes, str | None, str]] = {
    "empty": (b"", None, "not JSON"),
    "no JSON": (b"<html>", None, "not JSON"),
    "not UTF-8": (b'{"inputs": "\xff"}', None, "not JSON"),
    "a list": (b"[]", None, "JSON list"),
    "a number of thousands of digits": (b'{"inputs": ' + HUGE.encode() + b"}", None, "not JSON"),
    "nested to the moon": (b'{"inputs": ' + b"[" * 200_000, None, "not JSON"),
    "no inputs": (b"{}", None, 'under "inputs"'),
    "inputs are an object": (b'{"inputs": {}}', None, 'under "inputs"'),
    "an input is a number": (message(3), None, 'under "inputs"'),
    "no name": (message({"shape": [1]}), None, "name must be a string"),
    "a name that is a number": (message(an_input(name=3)), None, "name must be a string"),
    "two of one name": (message(an_input(), an_input()), None, "Two tensors are named 'x'"),
    "no shape": (message({"name": "x"}), None, "shape of 'x'"),
    "a negative dim": (message(an_input(shape=[-1])), None, "shape of 'x'"),
    "a dim that is true": (message(an_input(shape=[True])), None, "shape of 'x'"),
    "a dim that is a float": (message(an_input(shape=[2.0])), None, "shape of 'x'"),
    "a dim beyond 64 bits": (message(an_input(shape=[2**63])), None, "shape of 'x'"),
    "dims without end": (message(an_input(shape=[1] * 1000)), None, "shape of 'x'"),
    "no datatype": (message({"name": "x", "shape": [1]}), None, "Unknown datatype None"),
    "strings": (message(an_input(datatype="BYTES", data=["a", "b"])), None, "Unknown datatype 'BYTES'"),
    "our name of a dtype": (message(an_input(datatype="int64")), None, "Unknown datatype 'int64'"),
    "no data": (message({"name": "x", "shape": [2], "datatype": "INT64"}), None, "1 values"),
    "too few values": (message(an_input(data=[1])), None, "1 values"),
    "too many values": (message(an_input(data=[1, 2, 3])), None, "3 values"),
    "text among the values": (message(an_input(data=[1, "2"])), None, "must be numbers"),
    "null among the values": (message(an_input(data=[1, None])), None, "must be numbers"),
    "a float for an int": (message(an_input(data=[1, 2.5])), None, "do not fit"),
    "an int too large": (message(an_input(data=[1, 2**64])), None, "do not fit"),
    "a negative for an unsigned": (message(an_input(datatype="UINT8", data=[1, -1])), None, "do not fit"),
    "a half too large": (message(an_input(datatype="FP16", data=[1, 1e6])), None, "do not fit"),
    "parameters that are a list": (message(an_input(parameters=[1])), None, "parameters of 'x'"),
    "a size that is text": (message(an_input(parameters={"binary_data_size": "16"})), None, "binary_data_size"),
    "a size that is true": (message(an_input(parameters={"binary_data_size": True})), None, "binary_data_size"),
    "a negative size": (message(an_input(parameters={"binary_data_size": -1})), None, "binary_data_size"),
    "a size beyond the body": (message(an_input(parameters={"binary_data_size": 16})), None, "binary_data_size"),
    "a header length that is text": (message(an_input()), "many", HEADER_LENGTH),
    "a header length that is negative": (message(an_input()), "-1", HEADER_LENGTH),
    "a header length beyond the body": (message(an_input()), "100000", HEADER_LENGTH),
    "a header length of thousands of digits": (message(an_input()), HUGE, HEADER_LENGTH),
    "a header length that cuts the JSON": (message(an_input()), "10", "not JSON"),
}


@pytest.mark.parametrize(("body", "length", "said"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_message_is_bad_input(body: bytes, length: str | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_message(body, length, "inputs")
    assert said in caught.value.message
    assert len(caught.value.message) < 600


def test_a_size_that_does_not_fit_the_shape() -> None:
    head = message(an_input(data=None, parameters={"binary_data_size": 8}))
    with pytest.raises(InputError, match="has 16 bytes, but the buffer has 8"):
        parse_message(head + bytes(8), str(len(head)), "inputs")


def test_bytes_after_the_last_tensor() -> None:
    body, headers = infer_request(every_dtype())
    with pytest.raises(InputError, match="3 bytes follow"):
        parse_message(body + b"abc", headers[HEADER_LENGTH], "inputs")


def test_data_that_nests_deeper_than_python_recurses() -> None:
    # As deep as the JSON reader of this Python lets through.
    for depth in (900, 5_000, 50_000):
        body = b'{"inputs": [{"name": "x", "shape": [1], "datatype": "INT64", "data": ' + b"[" * depth + b"1"
        try:
            _, tensors = parse_message(body + b"]" * depth + b"}]}", None, "inputs")
        except InputError:
            continue
        assert list(tensors["x"].values()) == [1]


def test_mutated_messages_are_read_or_are_bad_input() -> None:
    chance = random.Random(20)
    body, headers = infer_request(every_dtype(), request_id="7", revision="r1")
    as_json, _ = infer_response(every_dtype(), frozenset(), model_name="m", model_version="1", request_id="7")
    sources = [(body, headers[HEADER_LENGTH]), (as_json.replace(b'"outputs"', b'"inputs"'), None)]
    refused = 0
    for _ in range(4_000):
        source, length = chance.choice(sources)
        try:
            parse_message(mutate(source, chance), length, "inputs")
        except InputError:
            refused += 1
    assert refused > 2_000


def mutate(source: bytes, chance: random.Random) -> bytes:
    mutated = bytearray(source)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(mutated))
        match chance.randrange(5):
            case 0:
                mutated[at] = chance.randrange(256)
            case 1:
                del mutated[at : at + chance.randint(1, 40)]
            case 2:
                mutated[at:at] = chance.choice([b"null", b"[", b"{}", b'"', b"-", b"1e999", b"true", b"99999999999999"])
            case 3:
                mutated[at:at] = mutated[: chance.randint(1, 60)]
            case _:
                mutated[at : at + 1] = chance.choice([b"0", b"9", b",", b":", b"\\ud83d", b"\xff"])
        if not mutated:
            break
    return bytes(mutated)


def test_every_dtype_has_a_datatype() -> None:
    assert DATATYPES.keys() == DTYPES.keys()
