"""Character properties by the names and escapes that patterns use, with Oniguruma's tables."""

from __future__ import annotations

from functools import cache

from edgeinfer_browser.tokenizers.pattern_tables import CATEGORIES, EXTRA, SCRIPTS
from edgeinfer_browser.tokenizers.ranges import EVERYTHING, Ranges, complement, intersection, parsed, union

#: Long names of the general categories that patterns spell out.
_LONG = {
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "modifierletter": "Lm",
    "otherletter": "Lo",
    "mark": "M",
    "nonspacingmark": "Mn",
    "number": "N",
    "decimalnumber": "Nd",
    "digit": "Nd",
    "punctuation": "P",
    "punct": "P",
    "symbol": "S",
    "separator": "Z",
    "spaceseparator": "Zs",
    "other": "C",
    "control": "Cc",
}
_NAMES = {name.lower(): name for name in (*CATEGORIES, *SCRIPTS, "L", "M", "N", "P", "S", "Z", "C", "Cn")} | _LONG


@cache
def char_property(name: str) -> Ranges | None:
    """The characters of ``\\p{name}``, or None for a name this package does not know."""
    # Oniguruma ignores case, spaces, hyphens and underscores in names.
    plain = name.lower().translate(dict.fromkeys(map(ord, " -_")))
    if plain in ("any", "ascii"):
        return EVERYTHING if plain == "any" else ((0, 0x7F),)
    if plain == "space":
        return space()
    known = _NAMES.get(plain)
    if known is None:
        return None
    return parsed(SCRIPTS[known]) if known in SCRIPTS else _category(known)


def _category(name: str) -> Ranges:
    if name in CATEGORIES:
        return parsed(CATEGORIES[name])
    if name == "Cn":
        # Surrogates are never in a text, so it does not matter that they count as unassigned here.
        return complement(union(map(parsed, CATEGORIES.values())))
    found = union(parsed(text) for key, text in CATEGORIES.items() if key[0] == name)
    return union((found, _category("Cn"))) if name == "C" else found


@cache
def space() -> Ranges:
    """``\\s``."""
    return parsed(EXTRA["space"])


@cache
def digit() -> Ranges:
    """``\\d``."""
    return _category("Nd")


@cache
def word() -> Ranges:
    """``\\w`` outside brackets."""
    return union((*(_category(name) for name in ("L", "M", "Nd", "Nl", "Pc")), parsed(EXTRA["word"])))


@cache
def word_in_set() -> Ranges:
    """``\\w`` inside brackets, where Oniguruma leaves out the superscript digits and fractions of Latin-1."""
    return intersection(word(), complement(parsed("B2-B3 B9 BC-BE")))


@cache
def numeric() -> Ranges:
    """Numbers of every kind in Rust's own table, which is newer than Oniguruma's."""
    return union((_category("N"), parsed(EXTRA["numeric"])))


@cache
def rust_word() -> Ranges:
    """``\\w`` in Rust's own regular expressions, which the Whitespace pre-tokenizer uses."""
    return union((*(_category(name) for name in ("L", "M", "Nd", "Nl", "Pc")), parsed(EXTRA["rust_word"])))
