"""Pre-tokenizers by ``type``: each cuts a normalised text into the words that the model sees one by one.

Every pre-tokenizer is a row of steps: splitters, which find words by the text alone, and rewriters, which change
each word in place. A Sequence is just a longer row. Splits without a rewriter between them cost no new string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers import splitters
from edgeinfer_browser.tokenizers.behaviors import BEHAVIORS
from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option, unknown
from edgeinfer_browser.tokenizers.normalized import NormalizedString, Span
from edgeinfer_browser.tokenizers.options import metaspace_options, one_char, pattern_option
from edgeinfer_browser.tokenizers.patterns import matcher
from edgeinfer_browser.tokenizers.rewriters import ByteChars, Metaspaces, PrefixSpace, Rewriter
from edgeinfer_browser.tokenizers.scripts import UnicodeScripts
from edgeinfer_browser.tokenizers.splitters import FixedLength, PatternSplitter, Splitter

Step = Splitter | Rewriter
#: A string and the words in it.
Group = tuple[NormalizedString, Iterable[Span]]

#: The pattern of ByteLevel, which is GPT-2's.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class PreTokenizer:
    """Takes a text through the steps."""

    def __init__(self, steps: list[Step]) -> None:
        #: Whether the words are turned into characters for bytes at the very end, which is left to the caller:
        #: it is the same for the same word, so it need not be done again for a word that was seen before.
        self.ends_in_bytes = bool(steps) and isinstance(steps[-1], ByteChars)
        self._steps = steps[:-1] if self.ends_in_bytes else steps
        only = self._steps[0] if len(self._steps) == 1 else None
        self._only = None if only is None or isinstance(only, Rewriter) else only
        self._sees_bytes = any(isinstance(step, ByteChars) for step in steps)

    def split(self, string: NormalizedString) -> Iterable[Group]:
        """Strings and the (start, end) of each word in them, in order; words are found one by one.

        Raises InputError for a text whose beginning comes from nowhere, where the Rust library fails.
        """
        if self._sees_bytes and string.ends is not None:
            _check_beginning(string)
        if self._only is not None:
            return ((string, self._only.spans(string.normalized)),)
        groups: Iterable[Group] = ((string, ((0, len(string.normalized)),)),)
        for step in self._steps:
            groups = _rewritten(groups, step) if isinstance(step, Rewriter) else _split(groups, step)
        return groups


def _check_beginning(string: NormalizedString) -> None:
    # The Rust library fails, or makes no bytes of some characters, after a normalizer such as Replace of an empty
    # match in front of everything.
    start, end = string.span(0, 1)
    if start == end:
        raise InputError(
            "The normalizer puts a text in front that ByteLevel cannot place; the Rust library fails, too."
        )


def _split(groups: Iterable[Group], splitter: Splitter) -> Iterator[Group]:
    for string, spans in groups:
        text = string.normalized
        if spans == ((0, len(text)),):
            yield string, splitter.spans(text)
        else:
            yield string, _finer(text, spans, splitter)


def _finer(text: str, spans: Iterable[Span], splitter: Splitter) -> Iterator[Span]:
    for start, end in spans:
        for first, last in splitter.spans(text[start:end]):
            yield start + first, start + last


def _rewritten(groups: Iterable[Group], rewriter: Rewriter) -> Iterator[Group]:
    for string, spans in groups:
        for start, end in spans:
            # A string that was not split is not sliced: a slice may know another place of its beginning.
            whole = isinstance(spans, tuple)
            part = string if whole else string.slice(start, end)
            rewriter.rewrite(part)
            if part.normalized:
                yield part, ((0, len(part.normalized)),)


def _plain(name: str, make: Callable[[], Splitter]) -> Callable[[Spec], list[Step]]:
    def from_spec(spec: Spec) -> list[Step]:
        check_options(name, spec)
        return [make()]

    return from_spec


def _sequence(spec: Spec) -> list[Step]:
    check_options("Sequence", spec, "pretokenizers")
    return [step for part in option("Sequence", spec, "pretokenizers", list) for step in _steps(part)]


def _byte_level(spec: Spec) -> list[Step]:
    name = "ByteLevel"
    check_options(name, spec, "add_prefix_space", "trim_offsets", "use_regex")
    option(name, spec, "trim_offsets", bool)
    steps: list[Step] = [PrefixSpace()] if option(name, spec, "add_prefix_space", bool) else []
    if option(name, {"use_regex": True, **spec}, "use_regex", bool):
        # All of the text is in some match, so the matches are the words.
        steps.append(matcher(GPT2))
    return [*steps, ByteChars()]


def _metaspace(spec: Spec) -> list[Step]:
    replacement, scheme, split = metaspace_options("Metaspace", spec)
    steps: list[Step] = [Metaspaces(replacement, scheme)]
    code = ord(replacement)
    return [*steps, splitters.class_splitter(((code, code),), "MergedWithNext")] if split else steps


def _behavior(name: str, spec: Spec) -> str:
    behavior: str = option(name, spec, "behavior", str)
    if behavior not in BEHAVIORS:
        raise unknown(f"behavior of {name}", behavior, BEHAVIORS)
    return behavior


def _punctuation(spec: Spec) -> list[Step]:
    check_options("Punctuation", spec, "behavior")
    return [splitters.punctuation(_behavior("Punctuation", {"behavior": "Isolated", **spec}))]


def _digits(spec: Spec) -> list[Step]:
    check_options("Digits", spec, "individual_digits")
    return [splitters.digits(individual=option("Digits", spec, "individual_digits", bool))]


def _char_delimiter(spec: Spec) -> list[Step]:
    check_options("CharDelimiterSplit", spec, "delimiter")
    code = ord(one_char("CharDelimiterSplit", spec, "delimiter"))
    return [splitters.class_splitter(((code, code),), "Removed")]


def _fixed_length(spec: Spec) -> list[Step]:
    check_options("FixedLength", spec, "length")
    length = option("FixedLength", {"length": 5, **spec}, "length", int)
    if length < 1:
        raise TokenizerError(f"FixedLength in tokenizer.json has length = {length}; it should be 1 or more.")
    return [FixedLength(length)]


def _split_step(spec: Spec) -> list[Step]:
    check_options("Split", spec, "pattern", "behavior", "invert")
    pattern = pattern_option("Split", spec)
    return [PatternSplitter(pattern, _behavior("Split", spec), invert=option("Split", spec, "invert", bool))]


#: Every pre-tokenizer this package knows, by its ``type``: its steps.
PRE_TOKENIZERS: Mapping[str, Callable[[Spec], list[Step]]] = {
    **{name: _plain(name, make) for name, make in splitters.PLAIN.items()},
    "ByteLevel": _byte_level,
    "CharDelimiterSplit": _char_delimiter,
    "Digits": _digits,
    "FixedLength": _fixed_length,
    "Metaspace": _metaspace,
    "Punctuation": _punctuation,
    "Sequence": _sequence,
    "Split": _split_step,
    "UnicodeScripts": _plain("UnicodeScripts", UnicodeScripts),
}


def _steps(spec: Spec) -> list[Step]:
    return build("pre_tokenizer", spec, PRE_TOKENIZERS)


def pre_tokenizer(spec: Spec) -> PreTokenizer:
    """The pre-tokenizer that ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return PreTokenizer(_steps(spec))
