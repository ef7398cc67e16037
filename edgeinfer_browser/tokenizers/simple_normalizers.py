"""The normalizers that take a few lines each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from edgeinfer_browser.tokenizers.byte_level import origins, to_chars
from edgeinfer_browser.tokenizers.char_table import CharTable
from edgeinfer_browser.tokenizers.normalized import NormalizedString, Span
from edgeinfer_browser.tokenizers.unicode import code_points


class CharNormalizer:
    """Replaces each character on its own, in one step or several: Lowercase, StripAccents, Nmt."""

    def __init__(self, *changes: Callable[[str], str]) -> None:
        self._tables = [CharTable(change) for change in changes]

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        for table in self._tables:
            string.translate(table)


class Strip:
    """Drops white space at the left end, the right end, or both."""

    def __init__(self, *, left: bool, right: bool) -> None:
        self._left = left
        self._right = right

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        text, space = string.normalized, code_points("WHITE_SPACE")
        start, end = 0, len(text)
        while self._left and start < end and text[start] in space:
            start += 1
        while self._right and start < end and text[end - 1] in space:
            end -= 1
        string.keep(start, end)


class Prepend:
    """Puts a text in front, unless there is nothing to put it in front of."""

    def __init__(self, text: str) -> None:
        self._text = text

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        string.prepend(self._text)


class Replace:
    """Puts a text in place of each match of a pattern."""

    def __init__(self, spans: Callable[[str], Iterator[Span]], content: str) -> None:
        self._spans = spans
        self._content = content

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        string.replace_spans(self._spans(string.normalized), self._content)


class ReplaceLetter:
    """Replace, of one character by one: nothing changes places."""

    def __init__(self, letter: str, content: str) -> None:
        self._letter = letter
        self._content = content

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        string.replace(self._letter, self._content)


class ByteLevel:
    """Puts a character for each byte of UTF-8."""

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        if string.ends is not None:
            string.map(to_chars)
            return
        text = string.normalized
        changed = to_chars(text)
        if len(changed) == len(text):
            string.normalized = changed
        else:
            string.realign(changed, origins(text))


def without_mark(char: str) -> str:
    """StripAccents: nothing in place of a mark."""
    return "" if char in code_points("MARK") else char


def without_control(char: str) -> str:
    """The first step of Nmt: nothing in place of most control characters."""
    return "" if char in code_points("NMT_REMOVED") else char


def with_blank(char: str) -> str:
    """The second step of Nmt: a space in place of white space and of what has no width."""
    return " " if char in code_points("NMT_BLANK") else char
