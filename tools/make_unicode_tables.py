"""Write ``edgeinfer_browser/tokenizers/unicode_tables.py`` by asking the Rust ``tokenizers`` about every code point.

Run it with the oldest supported Python (its ``unicodedata`` is the base that the tables correct)::

    python tools/make_unicode_tables.py

Only behaviour is asked for, through the public Python binding; what newer versions of Unicode added after the
base version is in the three constants below, because one Python cannot know what a later one will say.
"""

from __future__ import annotations

import hashlib
import json
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers

OUTPUT = Path(__file__).parent.parent / "edgeinfer_browser" / "tokenizers" / "unicode_tables.py"
CODE_POINTS = [*range(0xD800), *range(0xE000, 0x110000)]

#: Canonical and compatible decompositions that Unicode 15, 15.1 and 16 added.
LATER_CANONICAL = "105C9 105E4 11383 11385 1138E 11391 113C5 113C7-113C8 16121-16128 16D68-16D6A"
LATER_COMPATIBLE = "1CCD6-1CCF9 1E030-1E06D"
#: Marks with a combining class that Unicode 15, 15.1 and 16 added.
LATER_MARKS = "897 10D69-10D6D 10EFD-10EFF 113CE-113D0 11F41-11F42 1612F 1E08F 1E4EC-1E4EF 1E5EE-1E5EF"


def parse(text: str) -> set[int]:
    """The code points of a text like ``"41-5A 61"``."""
    bounds = ([int(bound, 16) for bound in item.split("-")] for item in text.split())
    return {code for bound in bounds for code in range(bound[0], bound[-1] + 1)}


def ranges(codes: Iterable[int]) -> str:
    """The text form of a set of code points, such as ``"41-5A 61"``."""
    found: list[list[int]] = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in found)


def where(test: Callable[[str], bool]) -> set[int]:
    """The code points whose character passes the test."""
    return {code for code in CODE_POINTS if test(chr(code))}


def bert(**options: bool) -> normalizers.Normalizer:
    """A BertNormalizer with everything off but the options named."""
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**(off | options))


def starters() -> set[int]:
    """Marks that have a combining class in ``unicodedata`` but not in Rust: they do not take part in ordering."""
    nfd = normalizers.NFD()
    marks = where(lambda char: unicodedata.combining(char) > 0) | parse(LATER_MARKS)

    def is_starter(code: int) -> bool:
        # Between a mark of class 230 and one of class 1, anything but a starter leaves its place.
        text = f"a\u0301{chr(code)}\u0334"
        return nfd.normalize_str(text) == text

    return {code for code in marks if is_starter(code)}


def later_lowercase() -> list[tuple[int, int, int]]:
    """Runs (first, last, distance) of letters that Rust lower-cases and the base ``unicodedata`` does not."""
    lower = normalizers.Lowercase().normalize_str
    moved = {code: ord(lower(chr(code))) - code for code in where(lambda c: lower(c) != c.lower())}
    runs: list[tuple[int, int, int]] = []
    for code, distance in sorted(moved.items()):
        if runs and runs[-1][1] == code - 1 and runs[-1][2] == distance:
            runs[-1] = (runs[-1][0], code, distance)
        else:
            runs.append((code, code, distance))
    return runs


def more_word_characters() -> set[int]:
    """Word characters of Rust's ``\\w`` that the base rule does not know (seen through ``single_word``)."""
    sys.path.insert(0, str(OUTPUT.parent.parent.parent))
    from edgeinfer_browser.tokenizers.unicode import is_word_by_category

    token = {"id": 1, "content": "FOO", "single_word": True, "lstrip": False, "rstrip": False}
    model: dict[str, Any] = {"type": "WordPiece", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    spec: dict[str, Any] = {"version": "1.0", "model": model}
    spec["added_tokens"] = [token | {"normalized": False, "special": False}]
    encode = Tokenizer.from_str(json.dumps(spec)).encode
    # In "?FOO" the token is found unless its neighbour is a word character.
    return where(lambda c: 1 not in encode(f"{c}FOO").ids and not is_word_by_category(c))


def changed_by(normalize: Callable[[str], str]) -> set[int]:
    """The code points that do not stay themselves."""
    return where(lambda char: normalize(char) != char)


def marks_that_move() -> set[int]:
    """Characters with a combining class in Rust."""
    return where(lambda char: unicodedata.combining(char) > 0) - starters()


def second_parts(nfd: Callable[[str], str]) -> set[int]:
    """Characters that compose with one before them."""
    hangul = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    pairs = (unicodedata.decomposition(chr(code)).split() for code in where(lambda c: nfd(c) != c))
    seconds = {int(pair[1], 16) for pair in pairs if len(pair) == 2 and pair[0][0] != "<"} | hangul
    return seconds | where(lambda c: ord(nfd(c)[0]) in seconds)


def unstable() -> dict[str, set[int]]:
    """For each normal form the characters that it changes, that it may move, or that change others."""
    forms = {form: getattr(normalizers, form)().normalize_str for form in ("NFD", "NFKD", "NFC", "NFKC")}
    moved, seconds = marks_that_move(), second_parts(forms["NFD"])
    found = {}
    for name, form in forms.items():
        found[f"UNSTABLE_{name}"] = changed_by(form) | moved
        if name.endswith("C"):
            found[f"UNSTABLE_{name}"] |= seconds
    return found


def precompiled(*letters: str) -> Callable[[str], str]:
    """A Precompiled normalizer that puts "X" in place of each letter.

    It takes a whole grapheme for its first letter when that has fewer than 6 bytes, which shows where they end.
    """
    sys.path.insert(0, str(OUTPUT.parent.parent.parent))
    from tests.charsmaps import charsmap

    spec = {"type": "Precompiled", "precompiled_charsmap": charsmap(dict.fromkeys(letters, "X"))}
    model = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "normalizer": spec, "model": model}))
    normalizer: normalizers.Normalizer = tokenizer.normalizer
    return normalizer.normalize_str


def graphemes() -> dict[str, set[int]]:
    """The properties that decide where graphemes end (UAX #29), as Rust has them."""
    mark, joiner, emoji, ka, virama = "\u0301", "\u200d", "\u263a", "\u0915", "\u094d"

    def joined(before: str, last: str) -> set[int]:
        # If "last" is joined to what is before it, the grapheme is long, and the mark after "last" stays.
        normalize = precompiled(last)
        return where(lambda c: normalize(before.format(c) + last + mark).endswith(mark))

    letter, first_mark = precompiled("a"), precompiled(mark)
    prepended = joined("{}", "a")
    pictures = joined("{}" + joiner, emoji) - prepended
    extending = joined(emoji + "{}" + joiner, emoji) - pictures
    consonants = joined("{}" + virama, ka) - prepended
    before_t, before_v, before_l = (joined("{}", jamo) - prepended for jamo in "\u11a8\u1161\u1100")
    syllables = set(range(0xAC00, 0xD7A4))
    return {
        "GRAPHEME_PREPEND": prepended,
        "GRAPHEME_CONTROL": where(lambda c: not first_mark(c + mark + "\u0308").endswith("\u0308")),
        "GRAPHEME_EXTEND": extending,
        "GRAPHEME_SPACING": where(lambda c: letter(f"a{c}") == "X") - extending - {ord(joiner)},
        "GRAPHEME_PICTURE": pictures,
        "GRAPHEME_CONSONANT": consonants,
        "GRAPHEME_LINKER": joined(ka + "{}", ka) - prepended,
        "GRAPHEME_L": before_l,
        "GRAPHEME_V": (before_t & before_v) - syllables,
        "GRAPHEME_T": before_t - before_v - syllables,
    }


def tables() -> dict[str, set[int]]:
    """Every set of code points, by the name it gets in the module."""
    clean = bert(clean_text=True).normalize_str
    spaced = bert(handle_chinese_chars=True).normalize_str
    plain = bert(strip_accents=True).normalize_str
    bare = normalizers.StripAccents().normalize_str
    nmt = normalizers.Nmt().normalize_str
    nfd, nfkd = normalizers.NFD().normalize_str, normalizers.NFKD().normalize_str
    pieces = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    count = {code: len(pieces(f"a{chr(code)}b")) for code in CODE_POINTS}
    undone = where(lambda c: nfd(c) != unicodedata.normalize("NFD", c)) | parse(LATER_CANONICAL)
    undone_too = where(lambda c: nfkd(c) != unicodedata.normalize("NFKD", c)) | parse(LATER_COMPATIBLE)
    return {
        "REMOVED": where(lambda c: clean(c) == ""),
        "BLANK": where(lambda c: clean(c) == " "),
        "WHITE_SPACE": {code for code in CODE_POINTS if count[code] == 2},
        "PUNCTUATION": {code for code in CODE_POINTS if count[code] == 3},
        "CHINESE": where(lambda c: spaced(c) != c),
        "MARK_NONSPACING": where(lambda c: plain(c) == ""),
        "MARK": where(lambda c: bare(c) == ""),
        "STARTERS": starters(),
        "NOT_DECOMPOSED": undone,
        "NOT_DECOMPOSED_COMPATIBLE": undone | undone_too,
        "MORE_WORD_CHARACTERS": more_word_characters(),
        "NMT_REMOVED": where(lambda c: nmt(c) == ""),
        "NMT_BLANK": where(lambda c: nmt(c) == " "),
        **unstable(),
        **graphemes(),
    }


def digest() -> str:
    """A hash over what Rust makes of every code point; a test compares it with what this Python makes."""
    hashed = hashlib.sha256()
    steps = [normalizers.NFD(), normalizers.NFKD(), normalizers.Lowercase(), bert(strip_accents=True)]
    steps.append(normalizers.BertNormalizer(strip_accents=None))
    steps += [normalizers.NFC(), normalizers.NFKC(), normalizers.Nmt(), normalizers.StripAccents()]
    # Planes 4 to 13, 15 and 16 have no characters but private ones.
    text = "\n".join(chr(code) for code in CODE_POINTS if code < 0x40000 or code >> 12 == 0xE0)
    for step in steps:
        hashed.update(step.normalize_str(text).encode())
    return hashed.hexdigest()


ABOUT = {
    "REMOVED": "Dropped by BertNormalizer's ``clean_text``: control, format and private use, not unassigned.",
    "BLANK": "Turned into a space by ``clean_text``.",
    "WHITE_SPACE": "Where BertPreTokenizer splits and drops; also what ``lstrip`` and ``rstrip`` take along.",
    "PUNCTUATION": "Where BertPreTokenizer splits and keeps.",
    "CHINESE": "Set between spaces by ``handle_chinese_chars``.",
    "MARK_NONSPACING": "Dropped by BertNormalizer's ``strip_accents``, after canonical decomposition.",
    "MARK": "Dropped by the StripAccents normalizer.",
    "STARTERS": "Have a combining class in some ``unicodedata``, none in Rust.",
    "NOT_DECOMPOSED": "Have a canonical decomposition in some ``unicodedata``, none in Rust.",
    "NOT_DECOMPOSED_COMPATIBLE": "Have a canonical or compatible decomposition in some ``unicodedata``, none in Rust.",
    "MORE_WORD_CHARACTERS": "Word characters in Rust that ``unicode.is_word_by_category`` may not know.",
    "NMT_REMOVED": "Dropped by the Nmt normalizer.",
    "NMT_BLANK": "Turned into a space by the Nmt normalizer.",
    "UNSTABLE_NFD": "Changed or moved by NFD.",
    "UNSTABLE_NFKD": "Changed or moved by NFKD.",
    "UNSTABLE_NFC": "Changed, moved or composed with what is before them by NFC.",
    "UNSTABLE_NFKC": "Changed, moved or composed with what is before them by NFKC.",
    "GRAPHEME_PREPEND": "Grapheme_Cluster_Break=Prepend.",
    "GRAPHEME_CONTROL": "Grapheme_Cluster_Break=Control, CR or LF.",
    "GRAPHEME_EXTEND": "Grapheme_Cluster_Break=Extend.",
    "GRAPHEME_SPACING": "Grapheme_Cluster_Break=SpacingMark.",
    "GRAPHEME_PICTURE": "Extended_Pictographic.",
    "GRAPHEME_CONSONANT": "Indic_Conjunct_Break=Consonant.",
    "GRAPHEME_LINKER": "Indic_Conjunct_Break=Linker.",
    "GRAPHEME_L": "Grapheme_Cluster_Break=L.",
    "GRAPHEME_V": "Grapheme_Cluster_Break=V.",
    "GRAPHEME_T": "Grapheme_Cluster_Break=T.",
}


def lines() -> Iterable[str]:
    """The lines of the module."""
    yield '"""Unicode as the Rust library sees it. Written by tools/make_unicode_tables.py: do not edit by hand."""'
    yield ""
    for name, codes in tables().items():
        yield f"#: {ABOUT[name]}"
        text = textwrap.wrap(ranges(codes), 100, break_on_hyphens=False)
        if len(text) == 1:
            yield f'{name} = "{text[0]}"'
            continue
        yield f"{name} = ("
        yield from (f'    "{line} "' for line in text[:-1])
        yield f'    "{text[-1]}"'
        yield ")"
    yield "#: (first, last, distance to the lower-case letter) that the oldest supported ``unicodedata`` lacks."
    yield "LATER_LOWERCASE = ("
    yield from (f"    (0x{first:X}, 0x{last:X}, {distance})," for first, last, distance in later_lowercase())
    yield ")"
    yield "#: sha256 over the normal forms of all code points, see ``digest`` in the script."
    yield f'DIGEST = "{digest()}"'


def main() -> None:
    """Write the module."""
    OUTPUT.write_text("\n".join(lines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
