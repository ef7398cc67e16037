"""Reads the parts of a pattern that stand for one character: escapes, properties and sets in brackets.

Classes become explicit sets of code points, because every Python has its own Unicode.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import char_properties
from edgeinfer_browser.tokenizers.case_folding import folded
from edgeinfer_browser.tokenizers.ranges import EVERYTHING, Ranges, complement, intersection, union

#: Groups and sets deeper than this are refused; real patterns have two or three levels.
DEEPEST = 30
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7, "e": 27}
_HEX_DIGITS: Ranges = ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))


class SetReader:
    """A pattern and how far it was read."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._open_sets = 0

    def _refusal(self, what: str, at: int | None = None) -> TokenizerError:
        at = self._at if at is None else at
        message = f"A pattern in tokenizer.json has {what} at position {at}, which is not supported: {self._pattern!r}."
        return TokenizerError(message, pattern=self._pattern, construct=what, position=at)

    def _peek(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _accept(self, text: str) -> bool:
        found = self._peek(text)
        self._at += len(text) * found
        return found

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise self._refusal("an unfinished construct")
        self._at += 1
        return self._pattern[self._at - 1]

    def _escape(self, start: int) -> int | Ranges:
        """What follows a backslash: a code point or a set."""
        char = self._next()
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xu":
            return self._hexadecimal(char, start)
        classes: dict[str, Callable[[], Ranges]]
        classes = {"s": char_properties.space, "d": char_properties.digit, "w": self._word, "h": lambda: _HEX_DIGITS}
        if char.lower() in classes:
            found = classes[char.lower()]()
            return found if char.islower() else complement(found)
        if char in "pP" and self._accept("{"):
            return self._property(char, start)
        if char.isascii() and char.isalnum():
            raise self._refusal(f"'\\{char}'", start)
        return ord(char)

    def _word(self) -> Ranges:
        return char_properties.word_in_set() if self._open_sets else char_properties.word()

    def _hexadecimal(self, kind: str, start: int) -> int:
        pattern = r"[0-9a-fA-F]{4}" if kind == "u" else r"[0-9a-fA-F]{2}|\{[0-9a-fA-F]{1,6}\}"
        digits = re.compile(pattern).match(self._pattern, self._at)
        if not digits or int(digits[0].strip("{}"), 16) > 0x10FFFF:
            raise self._refusal(f"'\\{kind}' without a code point", start)
        self._at = digits.end()
        return int(digits[0].strip("{}"), 16)

    def _property(self, kind: str, start: int) -> Ranges:
        negated = (kind == "P") != self._accept("^")
        name, brace, _ = self._pattern[self._at :].partition("}")
        found = self._word() if name.lower() == "word" else char_properties.char_property(name)
        if found is None or not brace:
            raise self._refusal(f"the property {name!r}", start)
        self._at += len(name) + 1
        return complement(found) if negated else found

    def _folded(self, ranges: Ranges, start: int) -> Ranges:
        result = folded(ranges)
        if result is None:
            raise self._refusal(f"{self._pattern[start : self._at]!r} in (?i)", start)
        return result

    # -- sets of characters

    def _set(self, *, ignore_case: bool) -> Ranges:
        """What stands between brackets, the first of which was read."""
        start = self._at - 1
        self._open_sets += 1
        if self._open_sets > DEEPEST:
            raise self._refusal(f"more than {DEEPEST} levels of sets")
        negated = self._accept("^")
        result: Ranges = EVERYTHING
        while True:
            result = intersection(result, self._set_items(start, ignore_case=ignore_case))
            if not self._accept("&&"):
                break
        self._at += 1
        self._open_sets -= 1
        return complement(result) if negated else result

    def _set_items(self, start: int, *, ignore_case: bool) -> Ranges:
        items: list[Ranges] = []
        while not self._peek("]") and not self._peek("&&"):
            at = self._at
            item = self._set_item(start, ignore_case=ignore_case)
            if isinstance(item, int):
                item = ((item, self._range_end(item, at)),)
                item = self._folded(item, at) if ignore_case else item
            items.append(item)
        if not items:
            raise self._refusal("an empty set", start)
        return union(items)

    def _set_item(self, start: int, *, ignore_case: bool) -> int | Ranges:
        if self._at >= len(self._pattern):
            raise self._refusal("a set without end", start)
        at = self._at
        if self._peek("[:"):
            return self._posix()
        char = self._next()
        if char == "[":
            return self._set(ignore_case=ignore_case)
        found = self._escape(at) if char == "\\" else ord(char)
        if char == "-" and not self._peek("]") and at > start + 1 + (self._pattern[start + 1] == "^"):
            raise self._refusal("'-' between two items of a set", at)
        if ignore_case and not isinstance(found, int) and self._pattern[at + 1] not in "sSdD":
            raise self._refusal(f"{self._pattern[at : self._at]!r} in a set in (?i)", at)
        return found

    def _posix(self) -> Ranges:
        start = self._at
        name = re.compile(r"\[:(\^?)(\w+):\]").match(self._pattern, start)
        known: dict[str, Callable[[], Ranges]]
        known = {"space": char_properties.space, "digit": char_properties.digit, "word": self._word}
        if not name or name[2] not in known:
            raise self._refusal(f"the set {name[0] if name else '[:'!r}", start)
        self._at = name.end()
        found = known[name[2]]()
        return complement(found) if name[1] else found

    def _range_end(self, first: int, start: int) -> int:
        if not self._peek("-") or self._pattern.startswith("]", self._at + 1):
            return first
        self._at += 1
        at = self._at
        char = self._next()
        last = self._escape(at) if char == "\\" else ord(char)
        if char == "[" or not isinstance(last, int) or last < first:
            raise self._refusal(f"the range {self._pattern[start : self._at]!r}", start)
        return last
