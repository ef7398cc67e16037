"""Post-processors by ``type``: each puts the special tokens around one sequence or between two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option, unknown
from edgeinfer_browser.tokenizers.encoding import special
from edgeinfer_browser.tokenizers.processing import (
    ByteLevelProcessing,
    Piece,
    PostProcessor,
    ProcessorSequence,
    Special,
    Surrounding,
    TemplateProcessing,
)
from edgeinfer_browser.tokenizers.trimming import Trim


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
    ids, tokens = (option(name, specials[name], column, list) for column in ("ids", "tokens"))
    return Piece(None, type_id, special(ids, tokens, type_id))


def _special(name: str, spec: Spec, key: str) -> Special:
    value = option(name, spec, key, list)
    if [*map(type, value)] != [str, int]:
        raise TokenizerError(f"{name} in tokenizer.json has {key} = {value!r}; it should be a token and its id.")
    return value[0], value[1]


def _bert(spec: Spec) -> PostProcessor:
    check_options("BertProcessing", spec, "sep", "cls")
    cls, sep = (_special("BertProcessing", spec, name) for name in ("cls", "sep"))
    return Surrounding(cls, sep, (None, 1), None)


def _trim(name: str, spec: Spec) -> Trim | None:
    add_prefix_space = option(name, spec, "add_prefix_space", bool)
    return Trim(add_prefix_space=add_prefix_space) if option(name, spec, "trim_offsets", bool) else None


def _roberta(spec: Spec) -> PostProcessor:
    name = "RobertaProcessing"
    check_options(name, spec, "sep", "cls", "trim_offsets", "add_prefix_space")
    cls, sep = (_special(name, spec, key) for key in ("cls", "sep"))
    # Roberta has type ids 0 throughout.
    return Surrounding(cls, sep, (sep, 0), _trim(name, spec))


def _byte_level(spec: Spec) -> PostProcessor:
    check_options("ByteLevel", spec, "add_prefix_space", "trim_offsets", "use_regex")
    return ByteLevelProcessing(_trim("ByteLevel", spec))


def _sequence(spec: Spec) -> PostProcessor:
    check_options("Sequence", spec, "processors")
    processors = [*map(post_processor, option("Sequence", spec, "processors", list))]
    # A template counts on one or two parts, which are whole sequences.
    if (
        sum(processor.added_tokens(True) > 0 or isinstance(processor, TemplateProcessing) for processor in processors)
        > 1
    ):
        raise TokenizerError("A Sequence of post-processors in tokenizer.json adds special tokens more than once.")
    return ProcessorSequence(processors)


#: Every post-processor this package knows, by its ``type``.
PROCESSORS: Mapping[str, Callable[[Spec], PostProcessor]] = {
    "BertProcessing": _bert,
    "ByteLevel": _byte_level,
    "RobertaProcessing": _roberta,
    "Sequence": _sequence,
    "TemplateProcessing": _template,
}


def post_processor(spec: Spec) -> PostProcessor:
    """The post-processor that ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("post_processor", spec, PROCESSORS)
