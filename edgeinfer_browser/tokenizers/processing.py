"""The work of the post-processors: special tokens around and between sequences, and trimmed offsets.

Every processor turns a list of parts of an encoding into another, as in the Rust library; the parts are joined at
the end. The first list has the one or two sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from edgeinfer_browser.tokenizers.byte_level import CHARS
from edgeinfer_browser.tokenizers.encoding import Encoding, Offsets, merge, special
from edgeinfer_browser.tokenizers.unicode import code_points

#: A special token: its text and its id.
Special = tuple[str, int]
#: Tokens remembered with their blanks; when so many were met, all are forgotten.
_BLANKS_SIZE = 20_000


class PostProcessor(Protocol):
    """Joins sequences and special tokens into one encoding."""

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens it adds; truncation leaves room for them."""

    def chain(self, parts: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        """The parts, processed."""


class Piece(NamedTuple):
    """A part of a template: a sequence (0 or 1), or None and the special token's ids and tokens."""

    sequence: int | None
    type_id: int
    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()


class TemplateProcessing:
    """Follows one template for a single sequence and one for a pair."""

    def __init__(self, single: list[Piece], pair: list[Piece]) -> None:
        self._templates = (single, pair)
        self._added = tuple(sum(len(piece.ids) for piece in template) for template in self._templates)

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens it adds; truncation leaves room for them."""
        return self._added[is_pair]

    def chain(self, parts: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        """The parts, processed."""
        found = []
        for piece in self._templates[len(parts) - 1]:
            if piece.sequence is not None:
                found.append(_sequence(parts[piece.sequence], piece.sequence, piece.type_id))
            elif add_special_tokens:
                found.append(special(piece.ids, piece.tokens, piece.type_id))
        return found


class Surrounding:
    """BertProcessing and RobertaProcessing: special tokens around each sequence.

    ``second`` is what comes before the second sequence, and its type id.
    """

    def __init__(self, cls: Special, sep: Special, second: tuple[Special | None, int], trim: Trim | None) -> None:
        self._sep = sep
        self._before = ((cls, 0), second)
        self._added = 4 if second[0] else 3
        self._trim = trim

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens it adds; truncation leaves room for them."""
        return self._added if is_pair else 2

    def chain(self, parts: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        """The parts, processed."""
        if self._trim:
            parts = [*map(self._trim, parts)]
        if add_special_tokens:
            return [_each(part, self._around(index)) for index, part in enumerate(parts)]
        # Here the windows keep the type ids that they have.
        types = [type_id for _, type_id in self._before]
        return [replace(part, type_ids=[types[index]] * len(part)) for index, part in enumerate(parts)]

    def _around(self, index: int) -> Callable[[Encoding], Encoding]:
        before, type_id = self._before[index]

        def around(part: Encoding) -> Encoding:
            inner = part.as_sequence(index, type_id)
            inner.rest = []
            start = [_special(before, type_id)] if before else []
            return merge([*start, inner, _special(self._sep, type_id)])

        return around


def _special(token: Special, type_id: int) -> Encoding:
    return special((token[1],), (token[0],), type_id)


class Trim:
    """Takes the white space at both ends of tokens out of their offsets; such tokens are of byte-level models."""

    def __init__(self, *, add_prefix_space: bool) -> None:
        self._add_prefix_space = add_prefix_space
        self._blanks = _Blanks()

    def __call__(self, part: Encoding) -> Encoding:
        """A copy with trimmed offsets, windows too."""
        return _each(part, self._trimmed)

    def _trimmed(self, part: Encoding) -> Encoding:
        blanks = self._blanks
        offsets = part.offsets[:]
        for index, token in enumerate(part.tokens):
            leading, trailing = blanks[token]
            if leading or trailing:
                offsets[index] = self._offsets(index, leading, trailing, *offsets[index])
        return _copy(part, offsets)

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


def _copy(part: Encoding, offsets: list[Offsets]) -> Encoding:
    return Encoding(
        part.ids,
        part.type_ids,
        part.tokens,
        part.word_ids,
        offsets,
        part.special_tokens_mask,
        part.attention_mask,
        part.sequence_ranges,
        part.rest,
        part.whole,
    )


class ByteLevelProcessing:
    """Trims offsets and adds nothing."""

    def __init__(self, trim: Trim | None) -> None:
        self._trim = trim

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens it adds; truncation leaves room for them."""
        return 0

    def chain(self, parts: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        """The parts, processed."""
        if self._trim:
            parts = [*map(self._trim, parts)]
        # After a template the parts are numbered anew, special tokens included, as in the Rust library.
        parts = [_copy(part, part.offsets) for part in parts]
        for index, part in enumerate(parts):
            part.sequence_ranges = {**part.sequence_ranges, index: (0, len(part))}
        return parts


class ProcessorSequence:
    """Several post-processors, one after the other."""

    def __init__(self, processors: Sequence[PostProcessor]) -> None:
        self._processors = processors

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens they add; truncation leaves room for them."""
        return sum(processor.added_tokens(is_pair) for processor in self._processors)

    def chain(self, parts: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        """The parts, processed."""
        for processor in self._processors:
            parts = processor.chain(parts, add_special_tokens)
        return parts


def process(
    processor: PostProcessor | None, first: Encoding, second: Encoding | None, add_special_tokens: bool
) -> Encoding:
    """One encoding from one or two sequences."""
    if isinstance(processor, TemplateProcessing):
        # The template numbers the sequences itself.
        return merge(processor.chain([first] if second is None else [first, second], add_special_tokens))
    if processor is None:
        # Here the windows do not get to know which sequence they are of.
        return first if second is None else merge([first.as_sequence(0, 0), second.as_sequence(1, 1)])
    parts = [_sequence(first, 0, 0)] if second is None else [_sequence(first, 0, 0), _sequence(second, 1, 1)]
    return merge(processor.chain(parts, add_special_tokens))


def _sequence(encoding: Encoding, sequence: int, type_id: int) -> Encoding:
    marked = encoding.as_sequence(sequence, type_id)
    if encoding.rest:
        # Windows keep the plain numbering of the sequences as type ids, whatever the template says.
        marked.rest = lambda: [part.as_sequence(sequence, sequence) for part in encoding.overflowing]
    return marked


def _each(part: Encoding, change: Callable[[Encoding], Encoding]) -> Encoding:
    """The part and its windows, each changed."""
    changed = change(part)
    if part.rest:
        changed.rest = lambda: [change(window) for window in part.overflowing]
    return changed
