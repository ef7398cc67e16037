"""Write the tables that patterns and UnicodeScripts need, by asking the Rust ``tokenizers`` about every code point.

Writes ``pattern_tables.py`` (Oniguruma's character properties) and ``script_tables.py`` (UnicodeScripts)::

    python tools/make_pattern_tables.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from make_unicode_tables import CODE_POINTS, OUTPUT, ranges
from tokenizers import Regex, normalizers, pre_tokenizers

#: General categories but Cs (never in a text) and Cn (all the rest).
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co"
#: Scripts that patterns of tokenizers are likely to name.
SCRIPTS = (
    "Arabic Armenian Bengali Bopomofo Common Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul "
    "Hebrew Hiragana Inherited Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Sinhala Tamil Telugu Thai "
    "Tibetan"
)
TEXT = "".join(map(chr, CODE_POINTS))


def members(pattern: str) -> set[int]:
    """The code points that a pattern of one character matches."""
    left = normalizers.Replace(Regex(pattern), "").normalize_str(TEXT)
    return {*CODE_POINTS}.difference(map(ord, left))


def scripts() -> list[set[int]]:
    """The sets of code points that UnicodeScripts keeps together; what goes with every script is in none."""
    split = pre_tokenizers.UnicodeScripts().pre_tokenize_str

    def together(*chars: str) -> bool:
        return len(split("".join(chars))) == 1

    found: dict[str, set[int]] = {}
    for piece, _ in split(TEXT):
        chars = [char for char in piece if not (together("a", char) and together("α", char))]
        # Some characters come first in their script: they are never dropped, unlike those of no script.
        same = next((key for key in found if together(key, chars[0])), chars[0])
        found.setdefault(same, set()).update(map(ord, chars))
    return sorted(found.values(), key=len, reverse=True)


def literal(codes: set[int], indent: str) -> Iterator[str]:
    """The lines of a string literal with the ranges."""
    lines = textwrap.wrap(ranges(codes), 108 - len(indent), break_on_hyphens=False)
    yield from (f'{indent}"{line} "' for line in lines[:-1])
    yield f'{indent}"{lines[-1]}"'


def table(name: str, sets: dict[str, set[int]]) -> Iterator[str]:
    """The lines of a dictionary of ranges."""
    yield f"{name}: dict[str, str] = {{"
    for key, codes in sets.items():
        lines = [*literal(codes, "        ")]
        if len(lines) == 1:
            yield f'    "{key}": {lines[0].strip()},'
        else:
            yield from (f'    "{key}": (', *lines, "    ),")
    yield "}"


def pattern_lines() -> Iterator[str]:
    """The lines of ``pattern_tables.py``."""
    categories = {name: members(rf"\p{{{name}}}") for name in CATEGORIES.split()}
    everywhere = set().union(
        *(codes for name, codes in categories.items() if name[0] in "LM" or name in ("Nd", "Nl", "Pc"))
    )
    numeric = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    digits = {code for code in CODE_POINTS if len(numeric(f"a{chr(code)}")) == 2}
    word = members(r"\w")
    assert word >= everywhere
    yield '"""Oniguruma\'s properties of characters. Written by tools/make_pattern_tables.py: do not edit by hand."""'
    yield ""
    yield "#: General categories; Cn is what is in none of them."
    yield from table("CATEGORIES", categories)
    yield "#: Scripts, by the names that patterns use."
    yield from table("SCRIPTS", {name: members(rf"\p{{{name}}}") for name in SCRIPTS.split()})
    yield "#: ``\\s``; Rust's numbers besides N; besides L, M, Nd, Nl, Pc: ``\\w``, and ``\\w`` in Rust's own patterns."
    rest = {"space": members(r"\s"), "word": word - everywhere}
    # Rust's own idea of a number (char::is_numeric) is from a later Unicode than Oniguruma's.
    rest["numeric"] = digits - members(r"\p{N}")
    assert digits > members(r"\p{N}")
    plain = pre_tokenizers.Whitespace().pre_tokenize_str
    rust_word = {code for code in CODE_POINTS if len(plain(f"a{chr(code)}a")) == 1}
    rest["rust_word"], rest["not_rust_word"] = rust_word - everywhere, everywhere - rust_word
    yield from table("EXTRA", {name: codes for name, codes in rest.items() if codes})


def script_lines() -> Iterator[str]:
    """The lines of ``script_tables.py``."""
    yield '"""The scripts of UnicodeScripts. Written by tools/make_pattern_tables.py: do not edit by hand."""'
    yield ""
    yield "#: Characters that stay together; a character in none goes with whatever stands before it."
    yield "SCRIPTS: tuple[str, ...] = ("
    for codes in scripts():
        lines = [*literal(codes, "        ")]
        if len(lines) == 1:
            yield f"    {lines[0].strip()},"
        else:
            yield from ("    (", *lines, "    ),")
    yield ")"


def main() -> None:
    """Write both modules."""
    for name, lines in (("pattern_tables", pattern_lines()), ("script_tables", script_lines())):
        OUTPUT.with_name(f"{name}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
