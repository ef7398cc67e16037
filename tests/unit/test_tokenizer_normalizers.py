"""Each normalizer and option, and sequences of them, against the Rust library: the text and every character's place."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tokenizers import Tokenizer as Rust

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.normalizers import normalizer
from edgeinfer_browser.tokenizers.rust import RustTokenizer
from tests.charsmaps import charsmap
from tests.conformance.tokenizer_samples import Texts

Spec = dict[str, Any]
Answer = tuple[str, list[tuple[int, int]]] | None

#: Words that the normalizers do something with.
WORDS = [
    "hello",
    " ",
    "\r\n",
    "é",
    "e\u0301",
    "한글",
    "\u1100\u1161\u11a8",
    "ﬁ\u0301",
    "…",
    "①",
    "ΟΔΟΣ",
    "\u0001",
    "  ",
]
#: Characters that compose, move or stay apart: marks, jamo, Indic vowel signs, and what has one form only.
COMPOSING = [
    *map(chr, (*range(0x300, 0x345), *range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3))),
    *"aeouAEO가각か\u212b\u1e9b",
    *"\u0cc6\u0cc2\u0cd5\u09c7\u09be\u0b47\u0b56\u0958\u0f73\u1026\u3099\ufb2a\u0653\u0654\u0627",
    *("\U000110a5", "\U000110ba", "\U0001d15e"),
]


def replace(kind: str, pattern: str, content: str) -> Spec:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def strip(left: bool, right: bool) -> Spec:
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def bert(source: random.Random) -> Spec:
    options = {name: source.random() < 0.5 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
    return {"type": "BertNormalizer", "strip_accents": source.choice([None, True, False])} | options


RULES = {"h": "", "e": "xy", " ": "", "é": "e", "l": "", "\u0301": "", "a": "bcd", "\r": "\n", "…": "..."}
PRECOMPILED: Spec = {"type": "Precompiled", "precompiled_charsmap": charsmap(RULES)}

SPECS: dict[str, Spec] = {
    **{
        name: {"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "ByteLevel", "Lowercase", "StripAccents")
    },
    "Strip": strip(left=True, right=True),
    "Strip, left": strip(left=True, right=False),
    "Strip, right": strip(left=False, right=True),
    "Strip, not at all": strip(left=False, right=False),
    "Prepend": {"type": "Prepend", "prepend": "▁x"},
    "Prepend, nothing": {"type": "Prepend", "prepend": ""},
    "Replace, a letter": replace("String", " ", "▁"),
    "Replace, a letter by more": replace("String", "e", "..."),
    "Replace, to nothing": replace("String", "ll", ""),
    "Replace, special characters": replace("String", ".", "?"),
    "Replace, an empty text": replace("String", "", "-"),
    "Replace, regex": replace("Regex", " {2,}", "▁"),
    "Replace, regex, class": replace("Regex", r"\p{L}+", "W"),
    "Replace, regex, start": replace("Regex", "^", "▁"),
    "Replace, regex, empty or not": replace("Regex", "l*", "-"),
    "Precompiled": PRECOMPILED,
    "Sequence, empty": {"type": "Sequence", "normalizers": []},
}


def rust_tokenizer(spec: Spec) -> tuple[Rust, RustTokenizer]:
    """A tokenizer whose tokens are single characters of the normalised text."""
    characters = {"type": "Split", "pattern": {"Regex": "(?m:.)"}, "behavior": "Isolated", "invert": False}
    model = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    whole = json.dumps({"version": "1.0", "normalizer": spec, "pre_tokenizer": characters, "model": model})
    return Rust.from_str(whole), RustTokenizer(whole.encode())


def rust_answer(tokenizers: tuple[Rust, RustTokenizer], text: str) -> Answer:
    """The normalised text and the place of each character, None if there is no answer."""
    try:
        offsets = tokenizers[1].encode(text).offsets
    except InputError:
        return None
    return tokenizers[0].normalizer.normalize_str(text), offsets


def answer(spec: Spec, texts: list[str]) -> list[Answer]:
    """The same from the port."""
    port = normalizer(spec)
    found: list[Answer] = []
    for text in texts:
        string = NormalizedString(text)
        try:
            port.normalize(string)
        except InputError:
            found.append(None)
            continue
        found.append((string.normalized, [string.span(index, index + 1) for index in range(len(string.normalized))]))
    return found


def check(spec: Spec, texts: list[str]) -> int:
    """Compare all texts; says how many had an answer."""
    tokenizers = rust_tokenizer(spec)
    wanted = [rust_answer(tokenizers, text) for text in texts]
    for text, one, other in zip(texts, answer(spec, texts), wanted, strict=True):
        assert one == other, (spec, ascii(text))
    return len(texts) - wanted.count(None)


@pytest.mark.parametrize("name", SPECS)
def test_each(name: str) -> None:
    source = Texts(1, WORDS)
    assert check(SPECS[name], ["", " ", "a", " a b ", *source.texts(250)])


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD"])
def test_dense_composition(name: str) -> None:
    source = random.Random(2)
    check({"type": name}, ["".join(source.choices(COMPOSING, k=source.randrange(1, 10))) for _ in range(1500)])


@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel"])
def test_a_slice_of_every_plane(name: str) -> None:
    source = random.Random(3)
    codes = source.sample([*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200)], 4000)
    check({"type": name}, ["".join(map(chr, codes[start : start + 40])) for start in range(0, 4000, 40)])


def test_sequences() -> None:
    source = Texts(4, WORDS)
    # What puts characters from nowhere in front makes the Rust library fail later, or repeat itself.
    fronts = [SPECS[name] for name in SPECS if "start" in name or "nothing" in name or "empty" in name]
    answered = 0
    for _ in range(60):
        parts = [source.random.choice([*SPECS.values(), bert(source.random)]) for _ in range(3)]
        if source.random.random() < 0.2:
            parts[0] = source.random.choice(fronts)
        answered += check({"type": "Sequence", "normalizers": parts}, source.texts(25))
    assert answered > 700


def test_a_long_text_takes_time_in_proportion() -> None:
    for text in ("a" * 40_000, " " * 40_000, "😀" * 40_000, "é\u0301" * 20_000, "北" * 40_000, "\r\n" * 20_000):
        for spec in SPECS.values():
            string = NormalizedString(text)
            normalizer(spec).normalize(string)


BROKEN: dict[str, tuple[Spec, str]] = {
    "Replace, no pattern": ({"type": "Replace", "content": ""}, "Replace in tokenizer.json lacks 'pattern'"),
    "Replace, a bare pattern": ({"type": "Replace", "pattern": "a", "content": ""}, "pattern = 'a'; it should be dict"),
    "Replace, a kind": (replace("Glob", "*", ""), "unknown pattern of Replace: 'Glob'. Known: Regex, String"),
    "Replace, two kinds": (
        {"type": "Replace", "pattern": {"String": "", "Regex": ""}, "content": ""},
        "'String, Regex'",
    ),
    "Replace, a regex": (replace("Regex", "(", ""), "pattern"),
    "Replace, an option": (replace("String", "a", "") | {"count": 1}, "unknown option of Replace: 'count'"),
    "Prepend": ({"type": "Prepend"}, "Prepend in tokenizer.json lacks 'prepend'"),
    "Strip": ({"type": "Strip", "strip_left": True}, "Strip in tokenizer.json lacks 'strip_right'"),
    "NFC": ({"type": "NFC", "form": 1}, "unknown option of NFC: 'form'"),
    "within a Sequence": ({"type": "Sequence", "normalizers": [{"type": "NFX"}]}, "unknown normalizer: 'NFX'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_normalizer_is_refused_by_name(name: str) -> None:
    spec, message = BROKEN[name]
    with pytest.raises(TokenizerError) as caught:
        normalizer(spec)
    assert message in str(caught.value)
