"""NormalizedString: a text on its way through normalizers and pre-tokenizers, and where its characters come from.

The rules of alignment are those of the Rust library. Each character of ``normalized`` has a (start, end) in the
original text, in code points. It begins as (i, i + 1), is copied from character to character, never widened:

- a character that replaces others (``map``, composition, ``transform`` with a change of 0 or less) has the
  alignment of the *first* character that it replaces;
- one that is inserted (the second and later ones of ``map``, ``transform`` with a change of 1) has the alignment
  of the character *before* it in the old text; in front of everything that is the empty (``shift``, ``shift``);
- what ``prepend`` puts in front has the alignment of the character that was first, so it is not empty;
- what ``replace`` puts in place of a match has the alignment of the *last* character of the match.

For a caller: ``string.normalized`` is the text; ``string.span(a, b)`` the place of a stretch in the original;
``string.slice(a, b)`` and ``string.slices(spans)`` are parts that can be changed on their own (each knows its
absolute place); ``prepend``, ``replace``, ``strip``, ``filter``, ``map``, ``transform`` and ``realign``
change the string in place. ``find_spans(pattern, text)`` finds matches as Rust's regular expressions do.
While nothing was inserted or removed no alignment is stored, and every step costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Protocol

from edgeinfer_browser.tokenizers.unicode import combining_class

Span = tuple[int, int]


class Match(Protocol):
    """What is needed of ``re.Match``."""

    def span(self) -> Span:
        """The (start, end) of the match."""


class Pattern(Protocol):
    """What is needed of ``re.Pattern``."""

    def search(self, string: str, pos: int = 0, /) -> Match | None:
        """The first match at or after ``pos``."""


class NormalizedString:
    """A part of an original text, normalised.

    ``starts`` and ``ends`` hold the alignment of each character, absolute in the original text. ``ends`` is None
    while every end is its start + 1; ``starts`` is None while, besides, character i comes from ``shift + i``.
    ``shift`` is where the part begins in the original.
    """

    __slots__ = ("ends", "normalized", "shift", "starts")

    def __init__(
        self, text: str, shift: int = 0, starts: list[int] | None = None, ends: list[int] | None = None
    ) -> None:
        self.normalized = text
        self.shift = shift
        self.starts = starts
        self.ends = ends

    # -- looking

    def span(self, start: int, end: int) -> Span:
        """The place in the original of the normalised characters from ``start`` to ``end`` (not empty)."""
        if self.starts is None:
            return self.shift + start, self.shift + end
        if self.ends is None:
            return self.starts[start], self.starts[end - 1] + 1
        return self.starts[start], self.ends[end - 1]

    def slice(self, start: int, end: int) -> NormalizedString:
        """A part of the normalised text that still knows its place in the original."""
        text, starts, ends = self.normalized[start:end], self.starts, self.ends
        if starts is None:
            return NormalizedString(text, self.shift + start)
        starts = starts[start:end]
        shift = starts[0] if starts else self.shift
        return NormalizedString(text, shift, starts, None if ends is None else ends[start:end])

    def slices(self, spans: Iterable[Span]) -> list[NormalizedString]:
        """The parts at the spans, without the empty ones."""
        return [self.slice(start, end) for start, end in spans if start < end]

    # -- changing

    def realign(self, text: str, origins: list[int]) -> None:
        """Put a new text in place; ``origins`` are the indices in the old text its characters come from.

        An origin of -1, possible only in front, is for a character that comes from nowhere.
        """
        if self.ends is not None or (origins and origins[0] < 0):
            self._realign_both(origins)
        elif self.starts is None:
            shift = self.shift
            self.starts = [shift + origin for origin in origins] if shift else origins
        else:
            starts = self.starts
            self.starts = [starts[origin] for origin in origins]
        self.normalized = text

    def _realign_both(self, origins: list[int]) -> None:
        shift = self.shift
        starts = [*range(shift, shift + len(self.normalized))] if self.starts is None else self.starts
        ends = [start + 1 for start in starts] if self.ends is None else self.ends
        # Index -1 finds the place in front.
        starts, ends = [*starts, shift], [*ends, shift]
        self.starts = [starts[origin] for origin in origins]
        self.ends = [ends[origin] for origin in origins]

    def transform(self, changes: Iterable[tuple[str, int]], removed: int = 0) -> None:
        """Put new characters in place of all; the first ``removed`` old ones are gone.

        Each comes with its change: 1 is inserted, 0 replaces one old character, -n replaces one and the n after it.
        """
        chars: list[str] = []
        origins: list[int] = []
        place = removed
        for char, change in changes:
            chars.append(char)
            if change > 0:
                origins.append(place - 1)
            else:
                origins.append(place)
                place += 1 - change
        self.realign("".join(chars), origins)

    def map(self, change: Callable[[str], str]) -> None:
        """Put ``change(char)``, of any length, in place of each character."""
        text = self.normalized
        # One call for each different character: a long text has few of them.
        table = {char: change(char) for char in set(text)}
        changed = "".join([table[char] for char in text])
        if len(changed) == len(text) and all(len(part) == 1 for part in table.values()):
            self.normalized = changed
        else:
            self.realign(changed, [index for index, char in enumerate(text) for _ in table[char]])

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
        self.transform((char, not is_first) for _, char, is_first in chars)

    def filter(self, keep: Callable[[str], bool]) -> None:
        """Drop the characters that ``keep`` does not want."""
        self.map(lambda char: char if keep(char) else "")

    def keep(self, start: int, end: int) -> None:
        """Drop what is before ``start`` and from ``end`` on; ``shift`` stays what it was."""
        if start > 0 or end < len(self.normalized):
            self.realign(self.normalized[start:end], [*range(start, end)])

    def prepend(self, text: str) -> None:
        """Put a text in front, unless the string is empty."""
        if self.normalized and text:
            self.realign(text + self.normalized, [*[0] * len(text), *range(len(self.normalized))])

    def replace(self, pattern: str | Pattern, content: str) -> None:
        """Put ``content`` in place of each match; a ``str`` pattern is taken literally, an empty one never found."""
        if isinstance(pattern, str):
            if len(pattern) == 1 == len(content):
                self.normalized = self.normalized.replace(pattern, content)
                return
            if pattern not in self.normalized:
                return
        self.replace_spans(find_spans(pattern, self.normalized), content)

    def replace_spans(self, spans: Iterable[Span], content: str) -> None:
        """Put ``content`` in place of each span; the spans are in order and may be empty."""
        text, done = self.normalized, 0
        parts: list[str] = []
        origins: list[int] = []
        for start, end in spans:
            parts += (text[done:start], content)
            origins += range(done, start)
            origins += [end - 1] * len(content)
            done = end
        if parts:
            origins += range(done, len(text))
            self.realign("".join(parts) + text[done:], origins)


def _order_marks(chars: list[tuple[int, str, bool]]) -> None:
    starters = [index for index, (mark_class, _, _) in enumerate(chars) if mark_class == 0]
    for start, end in pairwise([0, *starters, len(chars)]):
        # A starter has class 0 and stays in front of its marks; a single mark has nothing to change with.
        if end - start > 2 or (start == 0 and end > 1):
            chars[start:end] = sorted(chars[start:end], key=itemgetter(0))


def find_spans(pattern: str | Pattern, text: str) -> Iterator[Span]:
    """The matches in order, not overlapping; a ``str`` pattern is taken literally, an empty one never found.

    Unlike ``finditer``, and like the Rust library, it passes over an empty match right after another match, and
    finds nothing in an empty text.
    """
    if isinstance(pattern, str):
        if not pattern:
            return
        pattern = re.compile(re.escape(pattern))
    place, last = 0, -1
    while place <= len(text) and text:
        match = pattern.search(text, place)
        if match is None:
            return
        start, end = match.span()
        if start == end == last:
            place += 1
            continue
        yield start, end
        place = last = end
