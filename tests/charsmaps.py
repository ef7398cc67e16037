"""Charsmaps for the Precompiled normalizer, as SentencePiece writes them, but with rules of one's own."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping

#: A trie: a byte to the rest of the keys; None to the place of the result of the key that ends here.
_Node = dict[int | None, "_Node | int"]


def charsmap(rules: Mapping[str, str]) -> str:
    """The map that puts each value in place of its key: the size of a double array, the array, then the results.

    Each node has a block of 256 units of its own, which wastes room but needs no search for a place.
    """
    results = b""
    root: _Node = {}
    for key, text in rules.items():
        _insert(root, key.encode(), len(results))
        results += text.encode() + b"\0"
    units: dict[int, int] = {}
    _place(root, 0, 0, units, [0])
    size = (max(units) | 0xFF) + 1
    array = struct.pack(f"<{size}I", *(units.get(index, 0) for index in range(size)))
    return base64.b64encode(struct.pack("<I", len(array)) + array + results).decode()


def _insert(node: _Node, key: bytes, result: int) -> None:
    for byte in key:
        child = node.setdefault(byte, {})
        assert isinstance(child, dict)
        node = child
    node[None] = result


def _place(node: _Node, at: int, label: int, units: dict[int, int], used: list[int]) -> None:
    used[0] += 1
    base = 0x100 * used[0]
    units[at] = label | (None in node) << 8 | (at ^ base) << 10
    for byte, child in node.items():
        if isinstance(child, dict) and byte is not None:
            _place(child, base ^ byte, byte, units, used)
        elif isinstance(child, int):
            # The leaf is where the label 0 would be; the highest bit marks a value.
            units[base] = child | 1 << 31
