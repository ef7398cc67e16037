"""Encoding: the columns a model needs (ids, masks) and those a person needs (tokens, offsets, word ids)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

Offsets = tuple[int, int]


@dataclass(slots=True)
class Encoding:
    """The tokens of one sequence or pair; every column has one entry per token.

    ``offsets`` are (start, end) in code points of the original text, ``(0, 0)`` for added special tokens.
    ``word_ids`` count the words of each sequence, None for special tokens and padding.
    ``sequence_ranges`` maps 0 and 1 to the half-open token range of the first and second sequence.
    """

    ids: list[int] = field(default_factory=list)
    type_ids: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    word_ids: list[int | None] = field(default_factory=list)
    offsets: list[Offsets] = field(default_factory=list)
    special_tokens_mask: list[int] = field(default_factory=list)
    attention_mask: list[int] = field(default_factory=list)
    sequence_ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: What truncation cut off, or how to compute it: most callers never look.
    rest: list[Encoding] | Callable[[], list[Encoding]] = field(default_factory=list, repr=False, compare=False)
    #: How to get the whole encoding when only its beginning was computed, because truncation needs no more.
    whole: Callable[[], Encoding] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

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
        return Encoding(
            self.ids[part],
            self.type_ids[part],
            self.tokens[part],
            self.word_ids[part],
            self.offsets[part],
            self.special_tokens_mask[part],
            self.attention_mask[part],
        )

    def as_sequence(self, sequence: int, type_id: int) -> Encoding:
        """The same tokens, marked as the given sequence of a pair and with one type id throughout."""
        size = len(self)
        # dataclasses.replace() does the same five times slower.
        return Encoding(
            self.ids,
            [type_id] * size,
            self.tokens,
            self.word_ids,
            self.offsets,
            self.special_tokens_mask,
            self.attention_mask,
            {sequence: (0, size)},
            self.rest,
            self.whole,
        )


def fresh(
    ids: list[int], tokens: list[str], word_ids: list[int | None], offsets: list[Offsets], type_id: int
) -> Encoding:
    """An encoding of ordinary tokens: mask 1, not special."""
    size = len(ids)
    return Encoding(ids, [type_id] * size, tokens, word_ids, offsets, [0] * size, [1] * size)


def special(ids: Sequence[int], tokens: Sequence[str], type_id: int) -> Encoding:
    """An encoding of special tokens: they belong to no word and to no place in the text."""
    size = len(ids)
    nowhere: list[int | None] = [None] * size
    places, ones = [(0, 0)] * size, [1] * size
    return Encoding(list(ids), [type_id] * size, list(tokens), nowhere, places, ones, [1] * size)


def _joined(parts: Sequence[Encoding]) -> Encoding:
    """The columns one after the other, without overflow."""
    ids: list[int] = []
    type_ids: list[int] = []
    tokens: list[str] = []
    word_ids: list[int | None] = []
    offsets: list[Offsets] = []
    special_tokens_mask: list[int] = []
    attention_mask: list[int] = []
    ranges: dict[int, tuple[int, int]] = {}
    for part in parts:
        shift = len(ids)
        for sequence, (start, end) in part.sequence_ranges.items():
            ranges[sequence] = start + shift, end + shift
        ids += part.ids
        type_ids += part.type_ids
        tokens += part.tokens
        word_ids += part.word_ids
        offsets += part.offsets
        special_tokens_mask += part.special_tokens_mask
        attention_mask += part.attention_mask
    return Encoding(ids, type_ids, tokens, word_ids, offsets, special_tokens_mask, attention_mask, ranges)


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
