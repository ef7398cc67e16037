"""Trimming: the offsets of byte-level tokens without the white space that the tokens begin and end with."""

from __future__ import annotations

from collections.abc import Callable

from edgeinfer_browser.tokenizers.byte_level import CHARS
from edgeinfer_browser.tokenizers.details import DetailColumns, Details, Offsets
from edgeinfer_browser.tokenizers.encoding import Encoding
from edgeinfer_browser.tokenizers.unicode import code_points

#: Tokens remembered with their blanks; when so many were met, all are forgotten.
_BLANKS_SIZE = 20_000


class Trim:
    """Takes the white space at both ends of tokens out of their offsets; such tokens are of byte-level models."""

    def __init__(self, *, add_prefix_space: bool) -> None:
        self._add_prefix_space = add_prefix_space
        self._blanks = _Blanks()

    def __call__(self, part: Encoding) -> Encoding:
        """A copy with trimmed offsets, windows too."""
        return each(part, self._trimmed)

    def _trimmed(self, part: Encoding) -> Encoding:
        return part.with_details(Details(lambda: self._columns(part.details.columns)))

    def _columns(self, columns: DetailColumns) -> DetailColumns:
        blanks = self._blanks
        offsets = columns.offsets[:]
        for index, token in enumerate(columns.tokens):
            leading, trailing = blanks[token]
            if leading or trailing:
                offsets[index] = self._offsets(index, leading, trailing, *offsets[index])
        return columns._replace(offsets=offsets)

    def _offsets(self, index: int, leading: int, trailing: int, start: int, end: int) -> Offsets:
        # A single space in front may be the one that was added, and has no place in the text.
        was_added = self._add_prefix_space and leading == 1 and (index == 0 or start == 0)
        start = start if was_added else min(start + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, start)
        return start, end


class _Blanks(dict[str, tuple[int, int]]):
    """Token to the number of blanks at its start and its end, filled as tokens are met."""

    def __missing__(self, token: str) -> tuple[int, int]:
        if len(self) >= _BLANKS_SIZE:
            self.clear()
        found = self[token] = (_leading_blanks(token), _leading_blanks(token[::-1]))
        return found


def _leading_blanks(token: str) -> int:
    count = 0
    for char in token:
        if char != CHARS[0x20] and char not in code_points("WHITE_SPACE"):
            break
        count += 1
    return count


def each(part: Encoding, change: Callable[[Encoding], Encoding]) -> Encoding:
    """The part and its windows, each changed."""
    changed = change(part)
    if part.rest:
        changed.rest = lambda: [change(window) for window in part.overflowing]
    return changed
