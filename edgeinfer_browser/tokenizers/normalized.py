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
``string.slice(a, b)`` is a part that can be changed on its own and knows its absolute place; ``prepend``, ``replace``,
``replace_spans``, ``keep``, ``map``, ``translate``, ``transform`` and ``realign`` change the string in place.

While nothing was inserted or removed no alignment is stored, and every step costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.tokenizers.char_table import CharTable

Span = tuple[int, int]
#: A new character, and how it stands to the old ones; see ``NormalizedString.transform``.
Change = tuple[str, int]


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
        return self.spans([(start, end)])[0]

    def spans(self, spans: Iterable[Span]) -> list[Span]:
        """The places of several such stretches."""
        starts, ends, shift = self.starts, self.ends, self.shift
        if starts is None:
            return [(shift + start, shift + end) for start, end in spans] if shift else [*spans]
        if ends is None:
            return [(starts[start], starts[end - 1] + 1) for start, end in spans]
        return [(starts[start], ends[end - 1]) for start, end in spans]

    def slice(self, start: int, end: int) -> NormalizedString:
        """A part of the normalised text that still knows its place in the original."""
        text, starts, ends = self.normalized[start:end], self.starts, self.ends
        if starts is None:
            return NormalizedString(text, self.shift + start)
        starts = starts[start:end]
        shift = starts[0] if starts else self.shift
        return NormalizedString(text, shift, starts, None if ends is None else ends[start:end])

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

    def transform(self, changes: Iterable[Change], removed: int = 0) -> None:
        """Put new characters in place of all; the first ``removed`` old ones are gone.

        Each comes with its change: 1 is inserted, 0 replaces one old character, -n replaces one and the n after it.
        Raises InputError where the Rust library fails: it leaves out what came from nowhere, and then lacks characters.
        """
        front = self._front()
        text, origins = place_changes(changes, min(front + removed, len(self.normalized)), len(self.normalized))
        self.realign(self.normalized[:front] + text, [*range(front), *origins] if front else origins)

    def _front(self) -> int:
        """How many characters in front come from nowhere."""
        if self.starts is None or self.ends is None:
            return 0
        pairs = zip(self.starts, self.ends, strict=True)
        return next((index for index, (start, end) in enumerate(pairs) if start < end), len(self.starts))

    def map(self, change: Callable[[str], str]) -> None:
        """Put ``change(char)``, of any length, in place of each character."""
        self.translate(CharTable(change))

    def translate(self, table: CharTable) -> None:
        """Put what the table has, of any length, in place of each character."""
        text = self.normalized
        if self.ends is not None:
            self.transform(*_changes(table[ord(char)] for char in text))
            return
        changed = text.translate(table)
        if len(changed) == len(text) and table.uneven.isdisjoint(text):
            self.normalized = changed
        else:
            self.realign(changed, [index for index, char in enumerate(text) for _ in table[ord(char)]])

    def keep(self, start: int, end: int) -> None:
        """Drop what is before ``start`` and from ``end`` on; ``shift`` stays what it was."""
        if start == 0 and end == len(self.normalized):
            return
        if self.ends is not None:
            self.transform(((char, 0) for char in self.normalized[start:end]), start)
        else:
            self.realign(self.normalized[start:end], [*range(start, end)])

    def prepend(self, text: str) -> None:
        """Put a text in front, unless the string is empty."""
        size = len(self.normalized)
        if size:
            # Strange, but so it is in the Rust library: with nothing in front, the first character is from nowhere.
            first = [0] * (len(text) + 1) if text else [-1]
            self.realign(text + self.normalized, [*first, *range(1, size)])

    def replace(self, text: str, content: str) -> None:
        """Put ``content`` in place of each ``text``; an empty one is never found."""
        if len(text) == 1 == len(content):
            self.normalized = self.normalized.replace(text, content)
        elif text and text in self.normalized:
            self.replace_spans((match.span() for match in re.finditer(re.escape(text), self.normalized)), content)

    def replace_spans(self, spans: Iterable[Span], content: str) -> None:
        """Put ``content`` in place of each span; the spans are in order and may be empty."""
        text, done = self.normalized, 0
        if not text:
            return
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


def place_changes(changes: Iterable[Change], place: int, end: int) -> tuple[str, list[int]]:
    """The new text and the origins of its characters, when the old ones from ``place`` to ``end`` change."""
    chars: list[str] = []
    origins: list[int] = []
    for char, change in changes:
        chars.append(char)
        if change > 0:
            origins.append(place - 1)
            continue
        if place >= end:
            raise InputError("The normalizers of this tokenizer cannot follow each other on this text.")
        origins.append(place)
        place = min(end, place + 1 - change)
    return "".join(chars), origins


def _changes(parts: Iterable[str]) -> tuple[list[Change], int]:
    """What each old character becomes, as changes and how many are gone before them."""
    changes: list[Change] = []
    removed = 0
    for part in parts:
        if part:
            changes += [(char, index > 0) for index, char in enumerate(part)]
        elif changes:
            changes[-1] = changes[-1][0], changes[-1][1] - 1
        else:
            removed += 1
    return changes, removed
