"""What crosses a boundary, written once: tensors <-> one JSON header and one run of bytes.

Two boundaries use it. Between Python and the JS shim a message is ``(header, payload)``: the header lists
``{name, dtype, dims, bytes}`` and the payload is the tensors' bytes in that order. Over HTTP it is the Open Inference
Protocol v2 (KServe) with its binary tensor data extension (Triton): the same payload after a JSON header whose
length stands in ``Inference-Header-Content-Length``. Pure: no I/O.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.tensors import DTYPES, Tensor

HEADER_LENGTH = "Inference-Header-Content-Length"
#: Response header of our own servers: the dtype of the file that answered.
DTYPE_HEADER = "Edgeinfer-Dtype"
BINARY_TYPE = "application/octet-stream"
JSON_TYPE = "application/json"

#: Open Inference Protocol datatype of each of our dtypes.
DATATYPES = {
    "float32": "FP32",
    "float64": "FP64",
    "float16": "FP16",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "bool": "BOOL",
}
_DTYPES = {datatype: dtype for dtype, datatype in DATATYPES.items()}

#: numpy's own limit.
_MOST_DIMS = 64

Tensors = Mapping[str, Tensor]


def to_frame(tensors: Tensors) -> tuple[str, bytes]:
    """Tensors as ``(header, payload)`` for the shim."""
    header = [
        {"name": name, "dtype": tensor.dtype, "dims": tensor.dims, "bytes": tensor.data.nbytes}
        for name, tensor in tensors.items()
    ]
    return json.dumps(header), b"".join(tensor.data for tensor in tensors.values())


def from_frame(header: str, payload: bytes | memoryview) -> dict[str, Tensor]:
    """Tensors out of ``(header, payload)``; they are views of ``payload``."""
    view, at, tensors = memoryview(payload), 0, {}
    for entry in json.loads(header):
        end = at + entry["bytes"]
        tensors[entry["name"]] = Tensor.of(entry["dtype"], entry["dims"], view[at:end])
        at = end
    return tensors


def infer_request(
    tensors: Tensors, outputs: Sequence[str] = (), *, request_id: str = "", **parameters: str
) -> tuple[bytes, dict[str, str]]:
    """An OIP v2 infer request with binary inputs that asks for binary outputs, all when none is named.

    Returns:
        ``(body, headers)``.
    """
    head: dict[str, Any] = {"parameters": {"binary_data_output": True, **parameters}}
    if outputs:
        head["outputs"] = [{"name": name} for name in outputs]
    if request_id:
        head["id"] = request_id
    return _binary_message({**head, "inputs": [_binary_entry(name, t) for name, t in tensors.items()]}, tensors)


def infer_response(
    tensors: Tensors, binary: frozenset[str], *, model_name: str, model_version: str, request_id: str | None
) -> tuple[bytes, dict[str, str]]:
    """An OIP v2 infer response; outputs named in ``binary`` travel as raw bytes, the others as JSON."""
    outputs = [_binary_entry(n, t) if n in binary else _json_entry(n, t) for n, t in tensors.items()]
    head: dict[str, Any] = {"model_name": model_name, "model_version": model_version, "outputs": outputs}
    if request_id is not None:
        head["id"] = request_id
    if not binary:
        return json.dumps(head).encode(), {"Content-Type": JSON_TYPE}
    return _binary_message(head, {name: t for name, t in tensors.items() if name in binary})


def parse_message(body: bytes, header_length: str | None, key: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """An infer request (``key="inputs"``) or response (``key="outputs"``): ``(JSON header, tensors)``.

    Raises:
        InputError: when the bytes are not such a message; the message says where they are not.
    """
    end = _header_end(body, header_length)
    head = _json_object(body[:end])
    entries = head.get(key)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f'The message has no list of objects under "{key}".', key=key)
    payload, tensors = memoryview(body)[end:], {}
    for entry in entries:
        name, tensor, payload = _read_entry(entry, payload)
        if name in tensors:
            raise InputError(f"Two tensors are named {name!r}.", name=name)
        tensors[name] = tensor
    if len(payload):
        raise InputError(f"{len(payload)} bytes follow the last tensor. Check each binary_data_size.")
    return head, tensors


def _binary_message(head: Mapping[str, Any], tensors: Tensors) -> tuple[bytes, dict[str, str]]:
    text = json.dumps(head).encode()
    body = b"".join([text, *(tensor.data for tensor in tensors.values())])
    return body, {"Content-Type": BINARY_TYPE, HEADER_LENGTH: str(len(text))}


def _binary_entry(name: str, tensor: Tensor) -> dict[str, Any]:
    return {**_shape_entry(name, tensor), "parameters": {"binary_data_size": tensor.data.nbytes}}


def _json_entry(name: str, tensor: Tensor) -> dict[str, Any]:
    # JSON has no NaN and no Infinity; the protocol says nothing of them, so they travel as null.
    values = [None if isinstance(v, float) and not math.isfinite(v) else v for v in tensor.values()]
    return {**_shape_entry(name, tensor), "data": values}


def _shape_entry(name: str, tensor: Tensor) -> dict[str, Any]:
    return {"name": name, "shape": list(tensor.dims), "datatype": DATATYPES[tensor.dtype]}


def _header_end(body: bytes, header_length: str | None) -> int:
    if header_length is None:
        return len(body)
    # No body has a length of 20 digits, and int() refuses thousands of them with an error of its own.
    if not header_length.isdecimal() or len(header_length) > 19 or int(header_length) > len(body):
        raise InputError(
            f"{HEADER_LENGTH} is {header_length!r:.40}, but the body has {len(body)} bytes.",
            header_length=header_length,
        )
    return int(header_length)


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        head = json.loads(text)
    except (ValueError, RecursionError) as error:  # a ValueError also for a number of thousands of digits
        raise InputError(f"The message is not JSON: {error}.") from error
    if not isinstance(head, dict):
        raise InputError(f"The message is a JSON {type(head).__name__}, not an object.")
    return head


def _read_entry(entry: Mapping[str, Any], payload: memoryview) -> tuple[str, Tensor, memoryview]:
    name, dims = entry.get("name"), entry.get("shape")
    if not isinstance(name, str):
        raise InputError(f"A tensor's name must be a string, not {name!r:.80}.")
    if not _is_shape(dims):
        raise InputError(f"The shape of {name!r} must be a list of integers >= 0, not {dims!r:.80}.", name=name)
    dtype = _DTYPES.get(str(entry.get("datatype")))
    if dtype is None:
        raise UnknownNameError.of("datatype", entry.get("datatype"), _DTYPES)
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise InputError(f"The parameters of {name!r} must be an object, not {parameters!r:.80}.", name=name)
    size = parameters.get("binary_data_size")
    if size is None:
        return name, _from_json(name, dtype, dims, entry.get("data")), payload
    if type(size) is not int or not 0 <= size <= len(payload):
        raise InputError(f"binary_data_size of {name!r} is {size!r:.80}; {len(payload)} bytes are left.", name=name)
    return name, Tensor.of(dtype, dims, payload[:size]), payload[size:]


def _is_shape(dims: object) -> TypeGuard[list[int]]:
    return (
        isinstance(dims, list)
        and len(dims) <= _MOST_DIMS
        and all(type(dim) is int and 0 <= dim < 2**63 for dim in dims)
    )


def _from_json(name: str, dtype: str, dims: Sequence[int], data: object) -> Tensor:
    flat = _flatten(data)
    if len(flat) != math.prod(dims):
        raise InputError(f"{name!r} has shape {list(dims)} but {len(flat)} values.", name=name)
    if dtype not in DTYPES or not all(isinstance(v, int | float) for v in flat):
        raise InputError(f"The data of {name!r} must be numbers (nested lists are fine).", name=name)
    return Tensor.from_values(dtype, dims, flat)


def _flatten(data: object) -> list[Any]:
    """The leaves in order. Without recursion: how deep a message nests is the sender's choice."""
    flat, waiting = [], [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item))
        else:
            flat.append(item)
    return flat
