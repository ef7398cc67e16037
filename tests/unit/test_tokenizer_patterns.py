"""Patterns of real and made-up tokenizers, matched where the Rust library matches them."""

from __future__ import annotations

import random

import pytest
from tokenizers import Regex, normalizers, pre_tokenizers

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import pattern_tables
from edgeinfer_browser.tokenizers.patterns import compile_pattern, matcher
from edgeinfer_browser.tokenizers.ranges import parsed

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)
REAL = [GPT2, LLAMA3, LLAMA3.replace("{1,3}", ""), CL100K, O200K, DEEPSEEK]
REAL += ["[一-龥\\u3040-ゟ゠-ヿ]+", r" ?[^(\s|.,!?…。，、।۔،)]+", r"\d{1,3}(?=(?:\d{3})*\b)", r"\s?\p{L}+", " {2,}"]
SMALL = [
    r"\w+|[^\w\s]+", r"[\p{Han}]+|[\p{L}&&[^\p{Han}]]+", r"(?<=\d)(?=\d)", r"\b", r"\B", "a*", "a*?", "", "a|",
    "(?<=a)", "^a", "^", "$", "a$", r"\Aa", r"\Z", r"\z", "a{1,2}+b", "a{,2}", "a{x", "{", "a{0}", "a{1,2}?", "[a-]",
    "[-a]", "[a&&b]", "[a-c&&b-d]", "[[a-b]c]", "[^a[b]]", "[a-z&&[^b]]", "[^a-z&&[^b]]", "(?i)ab", "x(?i)a|b",
    "(?-i:a)b", r"\x41\x{42}\u0043\/\-\_", r"\p{^L}", r"\P{L}", r"\p{uppercase letter}", r"[\w-]+", r"\h", r"[^\H]",
    "(?<name>a)b", "(?>a+)b", "a++b", "a?+a", "(?i:s+)", "(?i:'S|’LL|[^k-s])", "(a|b)*c", "[[:space:]][[:^digit:]]",
    ".", "é",
]  # fmt: skip
REFUSED = [
    ("a{2}?", "lazy", 4), ("a**", "repeat of a repeat", 3), ("[]a]", "empty set", 0), ("(?i:ss)", "ss", 5),
    ("(?i:é)", "é", 4), ("(?m:.)", r"\(\?m:", 0), ("(?x: a)", r"\(\?x:", 0), ("ab\\1", r"\\1", 2), (r"\R", "R", 0),
    (r"\pL", "p", 0), ("[[:alpha:]]", "alpha", 1), (r"\p{Klingon}", "Klingon", 0), ("(?P<n>a)", "group", 0),
    ("(?<=a|bc)d", "look-behind", None), ("(?=a)*b", "assertion", 0), ("a|*", "repeat of nothing", 2), ("(a", "end", 0),
    ("a)", "unmatched", 1), ("[a", "set without end", 0), ("[z-a]", "range", 1), (r"[\s-a]", "'-'", 3),
    ("a{3,1}", "less", 1), ("\\", "unfinished", 1), ("(" * 40 + ")" * 40, "levels of groups", None),
    ("[" * 40, "levels of sets", 31), (r"(?i:[\p{Lu}])", "Lu", 5), (r"\x{110000}", "code point", 0),
    (r"(?i:[a-é])", "a-é", 5),
]  # fmt: skip
ALPHABET = (
    "aAbBcsSkKdDtTlLrReEvVmM'’ \t\n\r\x0b\x0c\x1c\x85\xa0\u2003\u200b1²٣ⅷéßſK一あア한.,!$^€|\u0301\u0345😀👍🏽\u200d"
    "𝒜𐐀𑀀𞤀\U0001f130ǅǆʰªⒶ_-/\\{}[]x"
)
WORDS = ["'s", "'LL", " the", "Hello", " ", "\n", "  ", "don't", "123", "一二", "'ſ", "WORLD", "'D", "aab", "ABC/-_"]


def texts(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    blocks = [range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000), range(0xE0000, 0xE0200)]

    def text() -> str:
        size = source.randrange(25)
        match source.randrange(4):
            case 0:
                return "".join(source.choices(WORDS, k=size))
            case 1:
                return "".join(chr(source.choice(source.choice(blocks))) for _ in range(size))
            case _:
                return "".join(source.choices(ALPHABET, k=size))

    return [text() for _ in range(count)]


def pieces(pattern: str, text: str) -> list[tuple[int, int]]:
    found, done = [], 0
    for start, end in matcher(pattern).spans(text):
        found += [(done, start), (start, end)]
        done = end
    return [span for span in [*found, (done, len(text))] if span[0] < span[1]]


@pytest.mark.parametrize("pattern", [*REAL, *SMALL])
def test_matches_are_those_of_the_rust_library(pattern: str) -> None:
    split = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str
    for text in [*WORDS, *texts(1, 300)]:
        assert pieces(pattern, text) == [span for _, span in split(text)], ascii(text)


@pytest.mark.parametrize(("pattern", "construct", "position"), REFUSED)
def test_what_has_no_exact_translation_is_refused(pattern: str, construct: str, position: int | None) -> None:
    with pytest.raises(TokenizerError, match=construct) as caught:
        compile_pattern(pattern)
    assert position is None or f"at position {position}," in str(caught.value)


@pytest.mark.parametrize("name", [*pattern_tables.CATEGORIES, "L", "M", "C", "Cn", "Han", "word", "space"])
def test_properties_at_the_edges_of_their_ranges(name: str) -> None:
    edges = {code for text in pattern_tables.CATEGORIES.values() for pair in parsed(text) for code in pair}
    chars = [chr(code) for edge in edges for code in (edge - 1, edge, edge + 1) if 0 <= code < 0x110000]
    text = "".join(char for char in chars if not "\ud800" <= char <= "\udfff")
    pattern = rf"\p{{{name}}}"
    assert compile_pattern(pattern).sub("", text) == normalizers.Replace(Regex(pattern), "").normalize_str(text)
