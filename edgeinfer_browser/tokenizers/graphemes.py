"""Extended grapheme clusters (UAX #29), with the properties that the Rust library's tables have.

Regional indicators are left out: a flag has at least 8 bytes, and nobody asks here for more than 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.unicode import code_points

_ZERO_WIDTH_JOINER = "\u200d"
#: Extends a grapheme, but not an Indic conjunct.
_ZERO_WIDTH_NON_JOINER = "\u200c"
#: Hangul syllables without a final consonant: every 28th.
_OPEN_SYLLABLES = "".join(map(chr, range(0xAC00, 0xD7A4, 28)))


def clusters(text: str) -> Iterator[Span]:
    """The (start, end) of each grapheme of at least two characters, in order."""
    if text.isascii():
        if "\r\n" in text:
            yield from (match.span() for match in re.finditer("\r\n", text))
    elif _joining().search(text):
        yield from (match.span() for match in _clusters().finditer(text))


def _class(name: str) -> str:
    return code_points(f"GRAPHEME_{name}").pattern()


@cache
def _joining() -> re.Pattern[str]:
    """What every grapheme of several characters has one of."""
    names = ("EXTEND", "SPACING", "PREPEND", "L", "V", "T")
    return re.compile(f"[\n{_ZERO_WIDTH_JOINER}{''.join(map(_class, names))}]")


@cache
def _clusters() -> re.Pattern[str]:
    """Table 1c of UAX #29, for clusters of at least two characters.

    Every repetition is possessive: its class and what may follow it have nothing in common.
    """
    prepend, extend = f"[{_class('PREPEND')}]", f"[{_class('EXTEND')}]"
    after = f"[{_class('EXTEND')}{_class('SPACING')}{_ZERO_WIDTH_JOINER}]"
    no_control = f"[^{_class('CONTROL')}]"
    several = f"{_hangul()}|{_pictures(extend)}|{_conjunct()}"
    return re.compile(
        f"\r\n|{prepend}(?:{prepend}*+(?:{several}|{no_control}){after}*+|{prepend}++)"
        f"|(?:{several}){after}*+|{no_control}{after}++"
    )


def _hangul() -> str:
    # Each syllable is open (LV) or closed (LVT).
    first, vowel, final = (_class(name) for name in "LVT")
    syllables = "\uac00-\ud7a3"
    starts = f"(?=[{first}][{first}{vowel}{syllables}]|[{vowel}{_OPEN_SYLLABLES}][{vowel}{final}]"
    starts += f"|[{final}{syllables}][{final}])"
    whole = f"[{first}]*+(?:(?:[{_OPEN_SYLLABLES}][{vowel}]*+|[{syllables}]|[{vowel}]++)[{final}]*+)"
    return f"{starts}(?:{whole}|[{first}]++|[{final}]++)"


def _pictures(extend: str) -> str:
    picture = f"[{_class('PICTURE')}]"
    return f"{picture}(?:{extend}*+{_ZERO_WIDTH_JOINER}{picture})++"


def _conjunct() -> str:
    consonant, linker = f"[{_class('CONSONANT')}]", f"[{_class('LINKER')}]"
    any_extend = f"[{_class('EXTEND')}{_ZERO_WIDTH_JOINER}]"
    extend = f"(?![{_class('LINKER')}{_ZERO_WIDTH_NON_JOINER}]){any_extend}"
    either = f"(?!{_ZERO_WIDTH_NON_JOINER}){any_extend}"
    return f"{consonant}(?:(?:{extend})*+{linker}(?:{either})*+{consonant})++"
