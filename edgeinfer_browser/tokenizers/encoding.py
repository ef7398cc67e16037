"""Encoding: the columns a model needs (ids, masks) and those a person needs (tokens, offsets, word ids)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from edgeinfer_browser.tokenizers.details import DetailColumns, Details, Offsets, joined


@dataclass(slots=True)
class Encoding:
    """The tokens of one sequence or pair; every column has one entry per token.

    ``tokens``, ``word_ids``, ``offsets`` and ``special_tokens_mask`` are computed when one of them is first read.
    ``sequence_ranges`` maps 0 and 1 to the half-open token range of the first and second sequence.
    """

    ids: list[int] = field(default_factory=list)
    type_ids: list[int] = field(default_factory=list)
    attention_mask: list[int] = field(default_factory=list)
    details: Details = field(default_factory=lambda: joined(()))
    sequence_ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: What truncation cut off, or how to compute it: most callers never look.
    rest: list[Encoding] | Callable[[], list[Encoding]] = field(default_factory=list, repr=False, compare=False)
    #: How to get the whole encoding when only its beginning was computed, because truncation needs no more.
    whole: Callable[[], Encoding] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> list[str]:
        """The tokens themselves."""
        return self.details.columns.tokens

    @property
    def word_ids(self) -> list[int | None]:
        """The number of each token's word in its sequence, None for special tokens and padding."""
        return self.details.columns.word_ids

    @property
    def offsets(self) -> list[Offsets]:
        """(start, end) in code points of the original text, ``(0, 0)`` for added special tokens."""
        return self.details.columns.offsets

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special tokens and padding."""
        return self.details.columns.special_tokens_mask

    @property
    def overflowing(self) -> list[Encoding]:
        """The windows that truncation cut off, in order; computed when first asked for."""
        if callable(self.rest):
            self.rest = self.rest()
        return self.rest

    @property
    def n_sequences(self) -> int:
        """1, or 2 for a pair."""
        return len(self.sequence_ranges) or 1

    @property
    def sequence_ids(self) -> list[int | None]:
        """For each token the sequence it comes from: 0, 1, or None for special tokens and padding."""
        found: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, end = self.sequence_ranges.get(sequence, (0, len(self)))
            found[start:end] = [sequence] * (end - start)
        return found

    def window(self, start: int, end: int) -> Encoding:
        """A copy of the tokens from ``start`` to ``end``, without sequence ranges and without overflow."""
        part = slice(start, end)
        return Encoding(self.ids[part], self.type_ids[part], self.attention_mask[part], self.details.window(start, end))

    def with_details(self, details: Details) -> Encoding:
        """A copy with other tokens, word ids, offsets and special tokens mask."""
        # dataclasses.replace() does the same five times slower.
        return Encoding(
            self.ids, self.type_ids, self.attention_mask, details, self.sequence_ranges, self.rest, self.whole
        )

    def as_sequence(self, sequence: int, type_id: int) -> Encoding:
        """The same tokens, marked as the given sequence of a pair and with one type id throughout."""
        marked = self.with_details(self.details)
        marked.type_ids = [type_id] * len(self)
        marked.sequence_ranges = {sequence: (0, len(self))}
        return marked


def special(ids: Sequence[int], tokens: Sequence[str], type_id: int, mask: int = 1) -> Encoding:
    """An encoding of special tokens: they belong to no word and to no place in the text. ``mask`` is 0 for padding."""
    size = len(ids)
    columns = DetailColumns(list(tokens), [None] * size, [(0, 0)] * size, [1] * size)
    return Encoding(list(ids), [type_id] * size, [mask] * size, Details(columns))


def _joined(parts: Sequence[Encoding]) -> Encoding:
    """The columns one after the other, without overflow."""
    ids: list[int] = []
    type_ids: list[int] = []
    attention_mask: list[int] = []
    ranges: dict[int, tuple[int, int]] = {}
    for part in parts:
        shift = len(ids)
        for sequence, (start, end) in part.sequence_ranges.items():
            ranges[sequence] = start + shift, end + shift
        ids += part.ids
        type_ids += part.type_ids
        attention_mask += part.attention_mask
    return Encoding(ids, type_ids, attention_mask, joined([part.details for part in parts]), ranges)


def _joined_with_overflow(left: Encoding, right: Encoding) -> Encoding:
    result = _joined((left, right))
    if left.rest or right.rest:
        result.rest = lambda: _joined_overflow(left, right)
    return result


def _joined_overflow(left: Encoding, right: Encoding) -> list[Encoding]:
    # Every window of one side with every window of the other, in the order of the Rust library.
    found = []
    for window in left.overflowing:
        found += [_joined_with_overflow(window, other) for other in (right, *right.overflowing)]
    return found + [_joined_with_overflow(left, other) for other in right.overflowing]


def merge(parts: Sequence[Encoding]) -> Encoding:
    """Encodings one after the other; their overflowing windows are combined, each with each."""
    if any(part.rest for part in parts):
        return reduce(_joined_with_overflow, parts)
    return _joined(parts)
