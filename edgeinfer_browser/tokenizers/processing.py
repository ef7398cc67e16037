"""The work of the post-processors: special tokens around and between sequences, and trimmed offsets.

Every processor turns a list of parts of an encoding into another, as in the Rust library; the parts are joined at
the end. The first list has the one or two sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from edgeinfer_browser.tokenizers.encoding import Encoding, merge, special
from edgeinfer_browser.tokenizers.trimming import Trim, each

#: A special token: its text and its id.
Special = tuple[str, int]


class PostProcessor(Protocol):
    """Joins sequences and special tokens into one encoding."""

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens it adds; truncation leaves room for them."""

    def chain(self, parts: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        """The parts, processed."""


class Piece(NamedTuple):
    """A part of a template: a sequence (0 or 1), or None and the special token's encoding (nobody may change it)."""

    sequence: int | None
    type_id: int
    special: Encoding = Encoding()


class TemplateProcessing:
    """Follows one template for a single sequence and one for a pair."""

    def __init__(self, single: list[Piece], pair: list[Piece]) -> None:
        self._templates = (single, pair)
        self._added = tuple(sum(len(piece.special) for piece in template) for template in self._templates)

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
                found.append(piece.special)
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
            return [each(part, self._around(index)) for index, part in enumerate(parts)]
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
        parts = [part.with_details(part.details) for part in parts]
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
