"""Ranges: sets of code points as sorted, disjoint (first, last) pairs, and how they are combined and written."""

from __future__ import annotations

import re
from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)


def parsed(text: str) -> Ranges:
    """The ranges of a text such as ``"41-5A 61"``."""
    bounds = (item.partition("-") for item in text.split())
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in bounds)


def union(parts: Iterable[Ranges]) -> Ranges:
    """What is in any of the sets."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pair for part in parts for pair in part):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """What is not in the set."""
    firsts = [0, *(last + 1 for _, last in ranges)]
    lasts = [*(first - 1 for first, _ in ranges), LAST]
    return tuple((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """What is in both sets."""
    return complement(union((complement(left), complement(right))))


def char_class(ranges: Ranges, limit: int = LAST) -> str:
    """A regular expression for one character of the set; it is only for texts without code points above limit."""
    shorter = min((ranges, complement(ranges)), key=lambda part: sum(first <= limit for first, _ in part))
    inside = "".join(_item(first, min(last, limit)) for first, last in shorter if first <= limit)
    if not inside:
        # Python has no empty class: "any character", or never a match.
        return "(?!)" if shorter is ranges else r"[\s\S]"
    return f"[{inside}]" if shorter is ranges else f"[^{inside}]"


def _item(first: int, last: int) -> str:
    return _char(first) if first == last else f"{_char(first)}-{_char(last)}"


def _char(code: int) -> str:
    return f"\\U{code:08X}" if code > 0x7F else re.escape(chr(code))
