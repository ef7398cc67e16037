"""Translates the regular expressions of ``tokenizer.json`` from Oniguruma's syntax to that of Python's ``re``.

Character classes become explicit sets of code points, because every Python has its own Unicode. What ``re`` has not,
or what Oniguruma reads in a way of its own, is refused by name and position. Source of the syntax: Oniguruma's
documentation of its default syntax, checked against the Rust library case by case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from edgeinfer_browser.tokenizers import char_properties
from edgeinfer_browser.tokenizers.case_folding import may_fold_together
from edgeinfer_browser.tokenizers.pattern_sets import DEEPEST, SetReader
from edgeinfer_browser.tokenizers.ranges import Ranges, char_class, complement

_INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}")
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


class Parser(SetReader):
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._depth = 0

    def parse(self) -> Translation:
        """The whole pattern; raises TokenizerError for what has no exact translation."""
        translation = self._alternatives(ignore_case=False)
        if self._at < len(self._pattern):
            raise self._refusal("an unmatched ')'")
        return translation

    # -- alternatives, sequences, repeats

    def _alternatives(self, *, ignore_case: bool) -> Translation:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refusal(f"more than {DEEPEST} levels of groups")
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


def _boundary(negated: bool) -> list[str | Ranges]:
    word = char_properties.word()
    if negated:
        return ["(?:(?<=", word, ")(?=", word, ")|(?<!", word, ")(?!", word, "))"]
    return ["(?:(?<=", word, ")(?!", word, ")|(?<!", word, ")(?=", word, "))"]
