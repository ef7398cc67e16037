"""Character facts as the Rust library has them, on every Python: ``unicodedata`` plus pinned differences.

Python 3.11 to 3.14 carry Unicode 14 to 16, the Rust library mixes tables from several versions. Whole sets that
differ much are stored (``unicode_tables``); small differences are corrections to ``unicodedata``.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from functools import cache

from edgeinfer_browser.tokenizers import unicode_tables


class CodePointSet:
    """A set of code points made from a text of hexadecimal ranges such as ``"41-5A 61"``."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for item in text.split():
            first, _, last = item.partition("-")
            self._firsts.append(int(first, 16))
            self._lasts.append(int(last or first, 16))

    def __contains__(self, char: str) -> bool:
        code = ord(char)
        place = bisect_right(self._firsts, code) - 1
        return place >= 0 and code <= self._lasts[place]

    def pattern(self) -> str:
        """The inside of a regular-expression character class (without the brackets)."""
        spans = zip(self._firsts, self._lasts, strict=True)
        return "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in spans)


@cache
def code_points(name: str) -> CodePointSet:
    """One of the sets in ``unicode_tables``, parsed when first asked for."""
    return CodePointSet(getattr(unicode_tables, name))


_LATER_LOWERCASE = {
    chr(code): chr(code + distance)
    for first, last, distance in unicode_tables.LATER_LOWERCASE
    for code in range(first, last + 1)
}


def lower(char: str) -> str:
    """The full lower-case form of one character, without context: "Σ" is "σ" also at the end of a word."""
    return _LATER_LOWERCASE.get(char) or char.lower()


def decompose(char: str) -> str:
    """The full canonical decomposition of one character."""
    return char if char in code_points("NOT_DECOMPOSED") else unicodedata.normalize("NFD", char)


def decompose_compatible(char: str) -> str:
    """The full compatible decomposition of one character."""
    return char if char in code_points("NOT_DECOMPOSED_COMPATIBLE") else unicodedata.normalize("NFKD", char)


def combining_class(char: str) -> int:
    """The canonical combining class; 0 for a starter."""
    found = unicodedata.combining(char)
    return 0 if found and char in code_points("STARTERS") else found


def is_word_by_category(char: str) -> bool:
    """Whether the category alone makes this a word character (letter, mark, digit, connector, joiner)."""
    category = unicodedata.category(char)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or char in "\u200c\u200d"


def is_word(char: str) -> bool:
    """Whether Rust's regular expressions count the character as part of a word."""
    return is_word_by_category(char) or char in code_points("MORE_WORD_CHARACTERS")
