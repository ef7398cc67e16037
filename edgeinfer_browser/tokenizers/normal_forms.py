"""The four normal forms of Unicode (UAX #15), with the alignments that the Rust library gives their characters.

Only stretches that are not in the form already are touched: they are found with one regular expression.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from edgeinfer_browser.tokenizers.normalized import Change, NormalizedString, place_changes
from edgeinfer_browser.tokenizers.unicode import code_points, combining_class, decompose, decompose_compatible

#: A character, how it stands to the old ones (1: inserted), and its combining class.
_Part = tuple[str, int, int]
#: Characters whose decomposition is remembered.
_TABLE_SIZE = 20_000


class _Form(NamedTuple):
    #: The set of characters that may change, or change others.
    unstable: str
    is_compatible: bool
    is_composed: bool


_FORMS = {
    "NFD": _Form("UNSTABLE_NFD", is_compatible=False, is_composed=False),
    "NFKD": _Form("UNSTABLE_NFKD", is_compatible=True, is_composed=False),
    "NFC": _Form("UNSTABLE_NFC", is_compatible=False, is_composed=True),
    "NFKC": _Form("UNSTABLE_NFKC", is_compatible=True, is_composed=True),
}


class NormalForm:
    """NFC, NFD, NFKC or NFKD."""

    def __init__(self, name: str) -> None:
        self._form = _FORMS[name]
        self._parts = _Decompositions(self._form.is_compatible)

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        text = string.normalized
        if string.ends is not None:
            string.transform(self._changes(text))
        elif not text.isascii():
            self._normalize_stretches(string)

    def _normalize_stretches(self, string: NormalizedString) -> None:
        text, done = string.normalized, 0
        parts: list[str] = []
        origins: list[int] = []
        for match in _unstable(self._form).finditer(text):
            start, end = match.span()
            changed, places = place_changes(self._changes(text[start:end]), start, end)
            parts += (text[done:start], changed)
            origins += range(done, start)
            origins += places
            done = end
        if parts:
            origins += range(done, len(text))
            string.realign("".join(parts) + text[done:], origins)

    def _changes(self, text: str) -> list[Change]:
        table = self._parts
        parts = [part for char in text for part in table[char]]
        _order_marks(parts)
        return _compose(parts) if self._form.is_composed else [(char, change) for char, change, _ in parts]


class _Decompositions(dict[str, list[_Part]]):
    """Character to the parts of its decomposition."""

    def __init__(self, is_compatible: bool) -> None:
        super().__init__()
        self._decompose = decompose_compatible if is_compatible else decompose

    def __missing__(self, char: str) -> list[_Part]:
        parts = enumerate(self._decompose(char))
        found: list[_Part] = [(part, int(index > 0), combining_class(part)) for index, part in parts]
        if len(self) < _TABLE_SIZE:
            self[char] = found
        return found


@cache
def _unstable(form: _Form) -> re.Pattern[str]:
    # Composition may change the stable character in front; nothing reaches past it.
    before = r"[\s\S]?" if form.is_composed else ""
    return re.compile(f"{before}[{code_points(form.unstable).pattern()}]+")


def _order_marks(parts: list[_Part]) -> None:
    """Put marks in canonical order; one that moves takes the origin of the place it moves to."""
    starters = [index for index, (_, _, mark_class) in enumerate(parts) if mark_class == 0]
    for start, end in pairwise([0, *starters, len(parts)]):
        # A starter has class 0 and stays in front of its marks; a single mark has nothing to change with.
        if end - start > 2 or (start == 0 and end > 1):
            parts[start:end] = sorted(parts[start:end], key=itemgetter(2))


def _compose(parts: list[_Part]) -> list[Change]:
    """Compose each starter with what follows it and is not blocked; the result replaces as many as it is made of."""
    found: list[Change] = []
    starter, last_class = -1, 0
    for char, change, mark_class in parts:
        # Blocked: a mark of the same class, or a higher one, stands between.
        if starter >= 0 and (last_class == 0 or last_class < mark_class):
            first, first_change = found[starter]
            composed = _composite(first, char)
            if composed:
                found[starter] = composed, first_change + change - 1
                continue
        if mark_class == 0:
            starter, last_class = len(found), 0
        elif starter >= 0:
            last_class = mark_class
        found.append((char, change))
    return found


def _composite(first: str, second: str) -> str:
    """The one character that two compose to, or nothing."""
    composed = unicodedata.normalize("NFC", first + second)
    return composed if len(composed) == 1 and composed not in code_points("NOT_DECOMPOSED") else ""
