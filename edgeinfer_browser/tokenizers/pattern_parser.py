"""Translates the regular expressions of ``tokenizer.json`` from Oniguruma's syntax to that of Python's ``re``.

Character classes become explicit sets of code points, because every Python has its own Unicode. What ``re`` has not,
or what Oniguruma reads in a way of its own, is refused by name and position. Source of the syntax: Oniguruma's
documentation of its default syntax, checked against the Rust library case by case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import char_properties
from edgeinfer_browser.tokenizers.case_folding import folded, may_fold_together
from edgeinfer_browser.tokenizers.ranges import EVERYTHING, Ranges, char_class, complement, intersection, union

#: Groups deeper than this are refused; real patterns have two or three levels.
_DEEPEST = 30
_INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}")
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7, "e": 27}
_HEX_DIGITS: Ranges = ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
_NOT_NEWLINE = complement(((10, 10),))
_ANCHORS = {
    # After a line feed that ends the text, Oniguruma sees no new line.
    "^": r"(?:\A|(?<=\n)(?!\Z))",
    "$": r"(?=\n|\Z)",
    "\\A": r"\A",
    "\\z": r"\Z",
    "\\Z": r"(?=\n?\Z)",
}
_GROUPS = ("?:", "?=", "?!", "?<=", "?<!", "?>")


@dataclass(slots=True)
class Translation:
    """Parts of a Python pattern; sets are written out late, because the text decides how much of them is needed."""

    parts: list[str | Ranges] = field(default_factory=list)
    #: Whether it may match without taking a character.
    is_nullable: bool = True

    def render(self, limit: int) -> str:
        """The pattern, for texts without code points above the limit."""
        return "".join(part if isinstance(part, str) else char_class(part, limit) for part in self.parts)


class Parser:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        self._open_sets = 0

    def parse(self) -> Translation:
        """The whole pattern; raises TokenizerError for what has no exact translation."""
        translation = self._alternatives(ignore_case=False)
        if self._at < len(self._pattern):
            raise self._refusal("an unmatched ')'")
        return translation

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

    # -- alternatives, sequences, repeats

    def _alternatives(self, *, ignore_case: bool) -> Translation:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refusal(f"more than {_DEEPEST} levels of groups")
        result = self._sequence(ignore_case=ignore_case)
        while self._accept("|"):
            other = self._sequence(ignore_case=ignore_case)
            result.parts += ["|", *other.parts]
            result.is_nullable |= other.is_nullable
        self._depth -= 1
        return result

    def _sequence(self, *, ignore_case: bool) -> Translation:
        result = Translation()
        before = ""
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            if self._accept("(?i)"):
                # Oniguruma: the option holds to the end of the group, alternatives included.
                rest = self._alternatives(ignore_case=True)
                result.parts += ["(?:", *rest.parts, ")"]
                result.is_nullable &= rest.is_nullable
                break
            start = self._at
            part = self._atom(ignore_case=ignore_case)
            literal = self._pattern[start : self._at] if ignore_case else ""
            if may_fold_together(before, literal):
                raise self._refusal(f"{before + literal!r} in (?i), which also matches one character", start)
            before = literal
            self._repeat(part, start)
            result.parts += part.parts
            result.is_nullable &= part.is_nullable
        return result

    def _repeat(self, part: Translation, start: int) -> None:
        quantifier, optional = self._quantifier()
        if not quantifier:
            return
        if part.parts and isinstance(part.parts[0], str) and part.parts[0] in (*_ANCHORS.values(), "(?=", "(?!"):
            raise self._refusal("a repeated assertion", start)
        if len(part.parts) > 1:
            part.parts = ["(?:", *part.parts, ")"]
        if quantifier.startswith("{") and self._accept("+"):
            # {1,3}+ is a repeat of the repeat here, not possessive as in Python.
            part.parts = ["(?:", *part.parts, f"{quantifier})+"]
        else:
            part.parts.append(quantifier + self._manner(quantifier))
        part.is_nullable |= optional
        if self._quantifier()[0]:
            raise self._refusal("a repeat of a repeat")

    def _manner(self, quantifier: str) -> str:
        if self._peek("?") and quantifier.startswith("{") and "," not in quantifier:
            raise self._refusal("a lazy repeat of fixed length")
        return "?" if self._accept("?") else "+" if self._accept("+") else ""

    def _quantifier(self) -> tuple[str, bool]:
        """The quantifier that comes next, or an empty text; and whether it allows no repeat at all."""
        for char in "*+?":
            if self._accept(char):
                return char, char != "+"
        interval = _INTERVAL.match(self._pattern, self._at)
        if not interval or not (interval[1] or interval[3]):
            return "", False
        low, comma, high = interval.groups()
        if high and int(high) < int(low or 0):
            raise self._refusal("an interval from more to less")
        self._at = interval.end()
        return f"{{{low or 0}{comma}{high}}}", int(low or 0) == 0

    # -- atoms

    def _atom(self, *, ignore_case: bool) -> Translation:
        start = self._at
        if self._quantifier()[0]:
            raise self._refusal("a repeat of nothing", start)
        char = self._next()
        if char == "(":
            return self._group(start, ignore_case=ignore_case)
        if char == "[":
            return Translation([self._set(ignore_case=ignore_case)], is_nullable=False)
        if char in "^$":
            return Translation([_ANCHORS[char]])
        if char == ".":
            return Translation([_NOT_NEWLINE], is_nullable=False)
        if char != "\\":
            return self._literal(ord(char), start, ignore_case=ignore_case)
        following = self._pattern[self._at : self._at + 1]
        if "\\" + following in _ANCHORS:
            self._at += 1
            return Translation([_ANCHORS["\\" + following]])
        if following in ("b", "B"):
            self._at += 1
            return Translation(_boundary(following == "B"))
        found = self._escape(start)
        if isinstance(found, int):
            return self._literal(found, start, ignore_case=ignore_case)
        return Translation([found], is_nullable=False)

    def _literal(self, code: int, start: int, *, ignore_case: bool) -> Translation:
        if not ignore_case:
            return Translation([re.escape(chr(code))], is_nullable=False)
        return Translation([self._folded(((code, code),), start)], is_nullable=False)

    def _folded(self, ranges: Ranges, start: int) -> Ranges:
        result = folded(ranges)
        if result is None:
            raise self._refusal(f"{self._pattern[start : self._at]!r} in (?i)", start)
        return result

    def _group(self, start: int, *, ignore_case: bool) -> Translation:
        opening = self._opening(start)
        if opening in ("?i:", "?-i:"):
            ignore_case = opening == "?i:"
            opening = "?:"
        inside = self._alternatives(ignore_case=ignore_case)
        if not self._accept(")"):
            raise self._refusal("a group without end", start)
        is_nullable = inside.is_nullable or opening in ("?=", "?!", "?<=", "?<!")
        return Translation([f"({opening}", *inside.parts, ")"], is_nullable)

    def _opening(self, start: int) -> str:
        if not self._peek("?"):
            return "?:"
        for opening in (*_GROUPS, "?i:", "?-i:"):
            if self._accept(opening):
                return opening
        name = re.compile(r"\?<[A-Za-z_]\w*>", re.ASCII).match(self._pattern, self._at)
        if not name:
            raise self._refusal(f"a group that begins with {self._pattern[start : start + 4]!r}", start)
        self._at = name.end()
        return "?:"

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

    # -- sets of characters

    def _set(self, *, ignore_case: bool) -> Ranges:
        """What stands between brackets, the first of which was read."""
        start = self._at - 1
        self._open_sets += 1
        if self._open_sets > _DEEPEST:
            raise self._refusal(f"more than {_DEEPEST} levels of sets")
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


def _boundary(negated: bool) -> list[str | Ranges]:
    word = char_properties.word()
    if negated:
        return ["(?:(?<=", word, ")(?=", word, ")|(?<!", word, ")(?!", word, "))"]
    return ["(?:(?<=", word, ")(?!", word, ")|(?<!", word, ")(?=", word, "))"]
