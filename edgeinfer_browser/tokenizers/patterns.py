"""Regular expressions of ``tokenizer.json``: what Oniguruma finds in a text, found with ``re``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from operator import methodcaller

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.pattern_parser import Parser, Translation
from edgeinfer_browser.tokenizers.ranges import LAST, Ranges


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A Python pattern that matches where Oniguruma does; raises TokenizerError for one it cannot translate."""
    return matcher(pattern).any_text


@lru_cache(maxsize=64)
def matcher(pattern: str) -> Matcher:
    """A Matcher for the pattern; raises TokenizerError for one it cannot translate."""
    return Matcher(Parser(pattern).parse(), pattern)


@lru_cache(maxsize=64)
def literal_matcher(text: str) -> Matcher:
    """A Matcher for a text that stands for itself."""
    return Matcher(Translation([re.escape(text)], is_nullable=not text), text)


def class_matcher(*parts: str | Ranges) -> Matcher:
    """A Matcher for a pattern in Python's syntax, with sets of characters between; it never matches nothing."""
    return Matcher(Translation([*parts], is_nullable=False), str(parts))


class Matcher:
    """Finds a pattern in texts; a text of ASCII, or of the Basic Multilingual Plane, has faster character sets."""

    def __init__(self, translation: Translation, source: str) -> None:
        self._source = source
        self._translation = translation
        # Errors in the pattern, such as look-behind of any length, should show now and not with the first text.
        self._ascii = self._compile(0x7F)

    def _compile(self, limit: int) -> re.Pattern[str]:
        try:
            return re.compile(self._translation.render(limit))
        except (re.error, OverflowError) as error:
            message = f"A pattern in tokenizer.json has no translation ({error}): {self._source!r}."
            raise TokenizerError(message, pattern=self._source, construct=str(error)) from error

    @cached_property
    def any_text(self) -> re.Pattern[str]:
        """The pattern for texts of any characters."""
        return self._compile(LAST)

    @cached_property
    def _basic(self) -> re.Pattern[str]:
        return self._compile(0xFFFF)

    def for_text(self, text: str) -> re.Pattern[str]:
        """The fastest pattern that is right for the text."""
        if text.isascii():
            return self._ascii
        return self.any_text if _BEYOND_BASIC.search(text) else self._basic

    def spans(self, text: str) -> Iterator[Span]:
        """The (start, end) of each match, in the order and number that Oniguruma has them."""
        pattern = self.for_text(text)
        if self._translation.is_nullable:
            return _spans_of_nullable(pattern, text)
        return map(_SPAN, pattern.finditer(text))


_SPAN: Callable[[re.Match[str]], Span] = methodcaller("span")
_BEYOND_BASIC = re.compile("[\U00010000-\U0010ffff]")


def _spans_of_nullable(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    # Unlike in Python, an empty match right after another match is passed over, and the search goes on
    # one character later. In an empty text the Rust library finds nothing.
    at, last = 0, -1
    while at <= len(text) and text:
        match = pattern.search(text, at)
        if match is None:
            return
        start, end = match.span()
        at = end + (start == end)
        if start == end == last:
            continue
        last = end
        yield start, end
