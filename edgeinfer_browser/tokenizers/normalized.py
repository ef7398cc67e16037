"""NormalizedString: a text on its way through the normalizers, and where each of its characters comes from."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from operator import itemgetter

from edgeinfer_browser.tokenizers.unicode import combining_class

Span = tuple[int, int]


class NormalizedString:
    """A part of an original text, normalised.

    Every character of ``normalized`` comes from exactly one code point of the original, whose index is in
    ``starts``. While nothing was removed or inserted ``starts`` is None: character i comes from ``shift + i``.
    """

    __slots__ = ("normalized", "shift", "starts")

    def __init__(self, text: str, shift: int = 0, starts: list[int] | None = None) -> None:
        self.normalized = text
        self.shift = shift
        self.starts = starts

    def span(self, start: int, end: int) -> Span:
        """The place in the original of the normalised characters from ``start`` to ``end`` (not empty)."""
        if self.starts is None:
            return self.shift + start, self.shift + end
        return self.starts[start], self.starts[end - 1] + 1

    def slice(self, start: int, end: int) -> NormalizedString:
        """A part of the normalised text that still knows its place in the original."""
        starts = None if self.starts is None else self.starts[start:end]
        return NormalizedString(self.normalized[start:end], self.shift + start, starts)

    def replace(self, text: str, origins: list[int]) -> None:
        """Put a new text in place; ``origins`` are the indices in the old text its characters come from."""
        if self.starts is None:
            self.starts = [self.shift + origin for origin in origins]
        else:
            self.starts = [self.starts[origin] for origin in origins]
        self.normalized = text

    def map(self, change: Callable[[str], str]) -> None:
        """Put ``change(char)``, of any length, in place of each character."""
        # One call for each different character: a long text has few of them.
        table = {char: change(char) for char in set(self.normalized)}
        parts = [table[char] for char in self.normalized]
        origins = [index for index, part in enumerate(parts) for _ in part]
        self.replace("".join(parts), origins)

    def decompose(self, decomposition: Callable[[str], str]) -> None:
        """Decompose each character, then put marks in canonical order.

        A mark that moved takes the origin of the place it moved to, as in the Rust library.
        """
        table = {
            char: [(combining_class(part), part, place == 0) for place, part in enumerate(decomposition(char))]
            for char in set(self.normalized)
        }
        chars = [part for char in self.normalized for part in table[char]]
        _order_marks(chars)
        origins = []
        origin = -1
        for _, _, is_first in chars:
            origin += is_first
            origins.append(origin)
        self.replace("".join(char for _, char, _ in chars), origins)


def _order_marks(chars: list[tuple[int, str, bool]]) -> None:
    starters = [index for index, (mark_class, _, _) in enumerate(chars) if mark_class == 0]
    for start, end in pairwise([0, *starters, len(chars)]):
        # A starter has class 0 and stays in front of its marks; a single mark has nothing to change with.
        if end - start > 2 or (start == 0 and end > 1):
            chars[start:end] = sorted(chars[start:end], key=itemgetter(0))
