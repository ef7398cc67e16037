"""Case in patterns: what ``(?i)`` adds to a set of characters, where that is simple enough to be exact."""

from __future__ import annotations

from edgeinfer_browser.tokenizers.ranges import Ranges, union

#: Letters outside ASCII that fold to one inside: the long s and the Kelvin sign.
_OUTSIDE = {"s": 0x17F, "k": 0x212A}
#: Sequences that also match one character, a ligature or the German sharp s: ``(?i:ss)`` matches "ß".
_LIGATURES = ("ss", "ff", "fi", "fl", "st")
#: Punctuation and scripts without case; other characters beyond ASCII are not allowed in ``(?i)``.
_CASELESS = ((0x2000, 0x206F), (0x3000, 0x9FFF), (0xAC00, 0xD7A3))


def folded(ranges: Ranges) -> Ranges | None:
    """The set with both cases of each letter, or None when it has characters whose case this does not know."""
    added: list[Ranges] = []
    for first, last in ranges:
        if last >= 0x80 and not any(low <= first and last <= high for low, high in _CASELESS):
            return None
        added += [_both_cases(code) for code in range(first, last + 1) if code < 0x80]
    return union((ranges, *added))


def _both_cases(code: int) -> Ranges:
    char = chr(code)
    codes = {code, ord(char.lower()), ord(char.upper()), _OUTSIDE.get(char.lower(), code)}
    return tuple((each, each) for each in sorted(codes))


def may_fold_together(first: str, second: str) -> bool:
    """Whether two literals, one after the other, also match one character in ``(?i)``."""
    return (first + second).lower() in _LIGATURES
