"""Post-processors by ``type``: each puts the special tokens around one sequence or between two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option, unknown
from edgeinfer_browser.tokenizers.encoding import Encoding, merge, special


class PostProcessor(Protocol):
    """Joins sequences and special tokens into one encoding."""

    def added_tokens(self, is_pair: bool) -> int:
        """How many special tokens it adds; truncation leaves room for them."""

    def process(self, first: Encoding, second: Encoding | None, add_special_tokens: bool) -> Encoding:
        """One encoding from one or two sequences."""


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

    def process(self, first: Encoding, second: Encoding | None, add_special_tokens: bool) -> Encoding:
        """One encoding from one or two sequences."""
        sequences = [first] if second is None else [first, second]
        parts = []
        for piece in self._templates[len(sequences) - 1]:
            if piece.sequence is not None:
                parts.append(_sequence(sequences[piece.sequence], piece.sequence, piece.type_id))
            elif add_special_tokens:
                parts.append(special(piece.ids, piece.tokens, piece.type_id))
        return merge(parts)


def _sequence(encoding: Encoding, sequence: int, type_id: int) -> Encoding:
    marked = encoding.as_sequence(sequence, type_id)
    if encoding.rest:
        # Windows keep the plain numbering of the sequences as type ids, whatever the template says.
        marked.rest = lambda: [part.as_sequence(sequence, sequence) for part in encoding.overflowing]
    return marked


def join(first: Encoding, second: Encoding | None) -> Encoding:
    """What happens without a post-processor: the sequences one after the other, nothing added."""
    if second is None:
        return first
    # Here the windows do not get to know which sequence they are of.
    return merge([first.as_sequence(0, 0), second.as_sequence(1, 1)])


def _template(spec: Spec) -> PostProcessor:
    name = "TemplateProcessing"
    check_options(name, spec, "single", "pair", "special_tokens")
    specials = option(name, spec, "special_tokens", dict)
    single, pair = (
        [_piece(part, specials) for part in option(name, spec, template, list)] for template in ("single", "pair")
    )
    for template, wanted in ((single, {0}), (pair, {0, 1})):
        found = {piece.sequence for piece in template} - {None}
        if not found <= wanted:
            raise TokenizerError(f"{name} in tokenizer.json uses a sequence that its template does not have.")
    return TemplateProcessing(single, pair)


def _piece(part: dict[str, dict[str, Any]], specials: dict[str, dict[str, Any]]) -> Piece:
    kind = next(iter(part), "")
    if len(part) != 1 or kind not in ("Sequence", "SpecialToken"):
        raise unknown("part of a template", kind, frozenset(("Sequence", "SpecialToken")))
    name = option(kind, part[kind], "id", str)
    type_id = option(kind, part[kind], "type_id", int)
    if kind == "Sequence":
        if name not in ("A", "B"):
            raise unknown("sequence of a template", name, frozenset("AB"))
        return Piece("AB".index(name), type_id)
    if name not in specials:
        raise unknown("special token of a template", name, specials)
    columns = (tuple(option(name, specials[name], column, list)) for column in ("ids", "tokens"))
    return Piece(None, type_id, *columns)


def _bert(spec: Spec) -> PostProcessor:
    check_options("BertProcessing", spec, "sep", "cls")
    (sep, sep_id), (cls, cls_id) = (option("BertProcessing", spec, name, list) for name in ("sep", "cls"))
    start = [Piece(None, 0, (cls_id,), (cls,)), Piece(0, 0), Piece(None, 0, (sep_id,), (sep,))]
    return TemplateProcessing(start, [*start, Piece(1, 1), Piece(None, 1, (sep_id,), (sep,))])


#: Every post-processor this package knows, by its ``type``.
PROCESSORS: Mapping[str, Callable[[Spec], PostProcessor]] = {
    "BertProcessing": _bert,
    "TemplateProcessing": _template,
}


def post_processor(spec: Spec) -> PostProcessor:
    """The post-processor that ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("post_processor", spec, PROCESSORS)
