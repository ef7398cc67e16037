"""Batches for WebGPU: texts sorted by length, so that little is padded; answers that do not depend on the batch.

Only float dtypes are batched: dynamic int8 scales activations by what is in the batch, so there each text runs alone.
Rows are padded with zeros on the last axis, the attention mask too, which keeps the padding out of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeinfer_browser.backends.base import Feeds
from edgeinfer_browser.tensors import DTYPES, Tensor

#: Texts in one batch, at most.
BATCH_SIZE = 16

#: dtypes whose answers do not depend on what else is in the batch.
BATCHED = frozenset({"fp32", "fp16"})


def plan(feeds: Sequence[Feeds]) -> list[list[int]]:
    """Indices into ``feeds`` in groups of like length, shortest first."""
    order = sorted(range(len(feeds)), key=lambda index: _length(feeds[index]))
    return [order[at : at + BATCH_SIZE] for at in range(0, len(order), BATCH_SIZE)]


def merge(feeds: Sequence[Feeds]) -> dict[str, Tensor]:
    """Feeds of dims [1, n] as one of dims [len(feeds), longest n], zeros after each shorter row."""
    width = max(map(_length, feeds))
    return {name: _stack([each[name] for each in feeds], width) for name in feeds[0]}


def split(outputs: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """Outputs of dims [batch, ...] as one per row, dims [1, ...]; views of the same memory."""
    rows = {name: _rows(tensor) for name, tensor in outputs.items()}
    return [dict(zip(rows, each, strict=True)) for each in zip(*rows.values(), strict=True)]


def _length(feeds: Feeds) -> int:
    return max((tensor.dims[-1] for tensor in feeds.values()), default=0)


def _stack(tensors: Sequence[Tensor], width: int) -> Tensor:
    size = DTYPES[tensors[0].dtype][0]
    rows = [bytes(tensor.data).ljust(width * size, b"\0") for tensor in tensors]
    return Tensor.of(tensors[0].dtype, (len(rows), width), b"".join(rows))


def _rows(tensor: Tensor) -> list[Tensor]:
    count, dims = tensor.dims[0], (1, *tensor.dims[1:])
    size = tensor.data.nbytes // max(count, 1)
    return [Tensor.of(tensor.dtype, dims, tensor.data[at * size : (at + 1) * size]) for at in range(count)]
