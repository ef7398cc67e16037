"""Splitters: each finds the words of a text by the text alone. The names are those of ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Protocol

from edgeinfer_browser.tokenizers import char_properties, unicode_tables
from edgeinfer_browser.tokenizers.behaviors import BEHAVIORS
from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.patterns import Matcher, class_matcher
from edgeinfer_browser.tokenizers.ranges import Ranges, complement, parsed, union

#: How a splitter by single characters writes each behavior as a pattern; {} is a character of the set, {!} another.
_CLASS_PATTERNS = {
    "Removed": ("{!}", "+"),
    "Isolated": ("{}", "|", "{!}", "+"),
    "Contiguous": ("{}", "+|", "{!}", "+"),
    "MergedWithPrevious": ("{!}", "+", "{}", "?|", "{}"),
    "MergedWithNext": ("{}", "?", "{!}", "+|", "{}"),
}


class Splitter(Protocol):
    """Finds the words of a text."""

    def spans(self, text: str) -> Iterable[Span]:
        """The (start, end) of each word, in order and not empty."""


class PatternSplitter:
    """Split: cuts at each match of a pattern; with ``invert`` what lies between the matches counts as the matches."""

    def __init__(self, pattern: Matcher, behavior: str, *, invert: bool) -> None:
        self._pattern = pattern
        self._behavior = BEHAVIORS[behavior]
        self._invert = invert

    def spans(self, text: str) -> Iterator[Span]:
        """The (start, end) of each word."""
        return self._behavior(self._parts(text))

    def _parts(self, text: str) -> Iterator[tuple[int, int, bool]]:
        done, is_match = 0, not self._invert
        for start, end in self._pattern.spans(text):
            if done < start:
                yield done, start, not is_match
            yield start, end, is_match
            done = end
        if done < len(text):
            yield done, len(text), not is_match


class FixedLength:
    """Cuts a text into words of so many characters."""

    def __init__(self, length: int) -> None:
        self._length = length

    def spans(self, text: str) -> Iterator[Span]:
        """The (start, end) of each word."""
        size, length = len(text), self._length
        return ((start, min(start + length, size)) for start in range(0, size, length))


def class_splitter(chars: Ranges, behavior: str) -> Matcher:
    """A splitter at the characters of a set."""
    sets = {"{}": chars, "{!}": complement(chars)}
    return class_matcher(*(sets.get(part, part) for part in _CLASS_PATTERNS[behavior]))


def white_space() -> Ranges:
    """What Rust's ``char::is_whitespace`` accepts."""
    return parsed(unicode_tables.WHITE_SPACE)


@cache
def bert() -> Matcher:
    """BertPreTokenizer: splits at white space, which is dropped, and around each punctuation mark, a word itself."""
    punctuation = parsed(unicode_tables.PUNCTUATION)
    return class_matcher(complement(union((white_space(), punctuation))), "+|", punctuation)


@cache
def whitespace() -> Matcher:
    """Whitespace: words of word characters, and words of other characters but white space."""
    words = char_properties.rust_word()
    return class_matcher(words, "+|", complement(union((words, white_space()))), "+")


@cache
def whitespace_split() -> Matcher:
    """WhitespaceSplit: whatever stands between white space."""
    return class_splitter(white_space(), "Removed")


@cache
def punctuation(behavior: str) -> Matcher:
    """Punctuation: splits at punctuation marks."""
    return class_splitter(parsed(unicode_tables.PUNCTUATION), behavior)


@cache
def digits(*, individual: bool) -> Matcher:
    """Digits: sets numbers apart, one character each or together."""
    return class_splitter(char_properties.numeric(), "Isolated" if individual else "Contiguous")


PLAIN: dict[str, Callable[[], Splitter]] = {
    "BertPreTokenizer": bert,
    "Whitespace": whitespace,
    "WhitespaceSplit": whitespace_split,
}
