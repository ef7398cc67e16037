"""Pre-tokenizers, one for each option and in sequences, against the Rust library."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tokenizers import pre_tokenizers

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers import Tokenizer, char_properties, script_tables, unicode_tables
from edgeinfer_browser.tokenizers.ranges import parsed
from tests.unit.tokenizer_oracle import BPE, Spec, added, assert_same, random_texts, spec

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BEHAVIORS = ("Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext")
PATTERNS = [
    *({"String": text} for text in ("a", " ", "--", "", ".")),
    *({"Regex": text} for text in (r"\s+", r"\p{L}+", "a*", GPT2, r"(?<=a)|\b")),
]
PRE_TOKENIZERS: list[Spec] = [
    *(
        {"type": name}
        for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts", "Punctuation")
    ),
    *({"type": "Digits", "individual_digits": flag} for flag in (True, False)),
    *({"type": "CharDelimiterSplit", "delimiter": char} for char in "- "),
    {"type": "FixedLength", "length": 3},
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    *(
        {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
        for pattern in PATTERNS
        for behavior in BEHAVIORS
        for invert in (True, False)
    ),
    *(
        {"type": "Metaspace", "replacement": char, "prepend_scheme": scheme, "split": split}
        for char in "▁a"
        for scheme in ("always", "first", "never")
        for split in (True, False)
    ),
    {"type": "Metaspace", "replacement": "▁"},
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "prepend_scheme": "first", "str_rep": "x"},
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "never", "split": None},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
    *(
        {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}
        for prefix in (True, False)
        for regex in (True, False)
    ),
]
NORMALIZERS: list[Spec | None] = [
    None,
    {"type": "Lowercase"},
    {"type": "StripAccents"},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": "▁▁"},
]
ADDED = [added("[CLS]", len(BPE["vocab"]), rstrip=True, special=True), added("the", len(BPE["vocab"]) + 1, lstrip=True)]
REFUSED: dict[str, tuple[Spec, str]] = {
    "behavior": ({"type": "Punctuation", "behavior": "isolated"}, "behavior of Punctuation: 'isolated'"),
    "pattern": (
        {"type": "Split", "pattern": {"Text": "a"}, "behavior": "Removed", "invert": False},
        "'Text'. Known: Regex",
    ),
    "regex": ({"type": "Split", "pattern": {"Regex": "(?x:a)"}, "behavior": "Removed", "invert": False}, "position 0"),
    "scheme": (
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "last"},
        "prepend_scheme of Metaspace: 'last'",
    ),
    "two schemes": (
        {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False},
        "add_prefix_space = False but",
    ),
    "replacement": ({"type": "Metaspace", "replacement": "ab"}, "one character"),
    "delimiter": ({"type": "CharDelimiterSplit", "delimiter": ""}, "one character"),
    "length": ({"type": "FixedLength", "length": 0}, "1 or more"),
    "option": ({"type": "Whitespace", "lazy": True}, "'lazy'"),
    "lacking": ({"type": "ByteLevel", "trim_offsets": True}, "lacks 'add_prefix_space'"),
    "inside": ({"type": "Sequence", "pretokenizers": [{"type": "Words"}]}, "unknown pre_tokenizer: 'Words'"),
}


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS, ids=lambda each: json.dumps(each)[9:90])
def test_each(pre_tokenizer: Spec) -> None:
    source = random.Random(1)
    assert_same(spec(pre_tokenizer=pre_tokenizer), random_texts(source, 60))
    normalizer = source.choice(NORMALIZERS)
    assert_same(spec(pre_tokenizer=pre_tokenizer, normalizer=normalizer, added_tokens=ADDED), random_texts(source, 60))


@pytest.mark.parametrize("seed", range(60))
def test_sequences(seed: int) -> None:
    source = random.Random(seed)
    parts = source.choices(PRE_TOKENIZERS, k=source.choice((0, 2, 2, 3)))
    options: dict[str, Any] = {"normalizer": source.choice(NORMALIZERS), "added_tokens": source.choice(([], ADDED))}
    sequence = {"type": "Sequence", "pretokenizers": parts}
    assert_same(spec(pre_tokenizer=sequence, **options), random_texts(source, 60))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    pre_tokenizer, message = REFUSED[name]
    with pytest.raises(TokenizerError, match=message.replace("(", r"\(")):
        Tokenizer.from_str(json.dumps(spec(pre_tokenizer=pre_tokenizer)))


def test_scripts_at_the_edges_of_their_ranges() -> None:
    edges = {edge for text in script_tables.SCRIPTS for pair in parsed(text) for edge in pair}
    chars = {chr(code) for edge in edges for code in (edge - 1, edge, edge + 1) if 0 <= code < 0x110000}
    chars = {char for char in chars if not "\ud800" <= char <= "\udfff"}
    texts = ["".join(random.Random(seed).sample(sorted(chars), 200)) for seed in range(40)]
    assert_same(spec(pre_tokenizer={"type": "UnicodeScripts"}), texts)


@pytest.mark.parametrize("name", ["Whitespace", "Digits", "Punctuation"])
def test_character_classes_at_the_edges_of_their_ranges(name: str) -> None:
    sets = [char_properties.rust_word(), char_properties.numeric(), parsed(unicode_tables.PUNCTUATION)]
    edges = {edge for ranges in sets for pair in ranges for edge in pair}
    chars = [chr(code) for edge in edges for code in (edge - 1, edge, edge + 1) if 0 <= code < 0x110000]
    text = "a".join(char for char in chars if not "\ud800" <= char <= "\udfff")
    pre_tokenizer = {"type": name} | ({"individual_digits": True} if name == "Digits" else {})
    encoding = Tokenizer.from_str(json.dumps(spec(pre_tokenizer=pre_tokenizer))).encode(text)
    expected = getattr(pre_tokenizers, name)().pre_tokenize_str(text)
    firsts = dict(reversed([*zip(encoding.word_ids, encoding.offsets, strict=True)]))
    assert [start for start, _ in firsts.values()][::-1] == [start for _, (start, _) in expected]


def test_text_from_nowhere_before_byte_level() -> None:
    # Here the Rust library panics, or gives the model characters that are no bytes.
    normalizer = {"type": "Replace", "pattern": {"Regex": "^"}, "content": " "}
    port = Tokenizer.from_str(json.dumps(spec(pre_tokenizer=PRE_TOKENIZERS[-1], normalizer=normalizer)))
    with pytest.raises(InputError, match="in front that ByteLevel cannot place"):
        port.encode("é a")
    assert_same(spec(pre_tokenizer={"type": "Metaspace", "replacement": "▁"}, normalizer=normalizer), ["é a", "a"])
