"""BPE and WordLevel against the Rust library: random vocabularies, merges and options; long words; bad files."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import Tokenizer
from tests.conformance.tokenizer_samples import columns
from tests.unit.tokenizer_oracle import BPE, Spec, assert_same, both, spec

CHARS = "abcé一😀 Ġ▁"
PRE_TOKENIZERS: list[Spec | None] = [
    None,
    {"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
]
SMALL: Spec = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
REFUSED: dict[str, tuple[Spec, str]] = {
    "unknown left": ({"merges": ["a b", "c a"]}, "Merge 1 of BPE, 'c' and 'a', needs the token 'c'"),
    "unknown result": ({"merges": ["b a"]}, "needs the token 'ba'"),
    "one token": ({"merges": ["ab"]}, r"Merge 0 of BPE in tokenizer.json is \['ab'\]"),
    "two spaces": ({"merges": ["a  b"]}, "not two tokens"),
    "three tokens": ({"merges": [["a", "b", "a"]]}, "not two tokens"),
    "mixed": ({"merges": ["a b", ["a", "b"]]}, "not two tokens"),
    "dropout": ({"dropout": 0.1}, "dropout = 0.1"),
    "id twice": ({"vocab": {"a": 0, "b": 1, "ab": 1}}, "the id 1 twice, for 'b' and for 'ab'"),
    "no id": ({"vocab": {"a": 0, "b": 1, "ab": "2"}}, "the id '2' for 'ab'"),
    "option": ({"smooth": 1}, "'smooth'"),
    "bytes and suffix": ({"byte_fallback": True, "end_of_word_suffix": "</w>"}, "byte_fallback and a prefix or suffix"),
    "no merges": ({"merges": None}, "merges = None"),
}


def random_model(source: random.Random) -> Spec:
    prefix, suffix = source.choice((None, "", "##", "é")), source.choice((None, "", "</w>"))
    byte_fallback = source.random() < 0.5 and not prefix and not suffix
    chars = source.sample(CHARS, source.randrange(2, len(CHARS)))
    vocab = [
        "<unk>",
        *chars,
        *(f"{start}{char}{end}" for char in chars for start in (prefix or "", "") for end in (suffix or "", "")),
    ]
    if byte_fallback:
        share = source.choice((1, 1, 0.7))
        vocab += [f"<0x{byte:02X}>" for byte in range(256) if source.random() <= share]
    merges: list[list[str]] = []
    for _ in range(source.randrange(40)):
        left, right = source.choices(vocab, k=2)
        if right.startswith(prefix or ""):
            merges.append([left, right])
            vocab.append(left + right[len(prefix or "") :])
    unique = [*dict.fromkeys(vocab)]
    if source.random() < 0.3:
        source.shuffle(merges)
    as_texts = source.random() < 0.5 and not any(" " in token for merge in merges for token in merge)
    return {
        "type": "BPE",
        "dropout": source.choice((None, 0.0)),
        "unk_token": source.choice((None, "<unk>", "<unk>", "missing")),
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": source.random() < 0.5,
        "byte_fallback": byte_fallback,
        "ignore_merges": source.random() < 0.3,
        "vocab": {token: key for key, token in enumerate(unique)},
        "merges": [" ".join(merge) for merge in merges] if as_texts else merges,
    }


def random_texts(source: random.Random, count: int) -> list[str]:
    alphabets = ["abcé一😀 ", "abcé一😀▁", "ab", CHARS + "xyzüß\n👍"]
    return ["".join(source.choices(source.choice(alphabets), k=source.choice((3, 8, 20, 250)))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(150))
def test_random_models(seed: int) -> None:
    source = random.Random(seed)
    assert_same(spec(model=random_model(source), pre_tokenizer=source.choice(PRE_TOKENIZERS)), random_texts(source, 25))


@pytest.mark.parametrize("seed", range(40))
def test_long_words_with_merges_in_any_order(seed: int) -> None:
    source = random.Random(seed)
    chars = "abcd"[: source.randrange(1, 5)]
    vocab = [*chars]
    merges = []
    for _ in range(source.randrange(1, 60)):
        pair = source.choices(vocab, k=2)
        if len("".join(pair)) < 40:
            merges.append(pair)
            vocab = [*dict.fromkeys([*vocab, "".join(pair)])]
    source.shuffle(merges)
    model = {"type": "BPE", "vocab": {token: key for key, token in enumerate(vocab)}, "merges": merges}
    texts = ["".join(source.choices(chars, k=size)) for size in (99, 101, 500, 3_000)]
    assert_same(spec(model=model), [*texts, chars[0] * 3_000])


def test_old_forms_of_the_file() -> None:
    forms: list[Spec] = [{"merges": ["#version: 0.2", "a b"]}, {"merges": [["a", "b"]]}, {"dropout": 0}, {"merges": []}]
    for changes in forms:
        assert_same(spec(model=SMALL | changes), ["ab", "aab", "ba"])
    without_type = {name: value for name, value in SMALL.items() if name != "type"}
    assert_same(spec(model=without_type), ["ab"])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    changes, message = REFUSED[name]
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_str(json.dumps(spec(model=SMALL | changes)))


@pytest.mark.parametrize("text", ["a", " ", "ab", "👍🏽", "漢字", "hello world ", "a\n "])
@pytest.mark.parametrize("pre_tokenizer", [None, PRE_TOKENIZERS[3]], ids=["one word", "byte level"])
def test_long_texts_are_encoded_and_do_not_take_for_ever(text: str, pre_tokenizer: Spec | None) -> None:
    rust, port = both(spec(model=BPE | {"fuse_unk": True}, pre_tokenizer=pre_tokenizer))
    long = text * (200_000 // len(text.encode()))
    assert columns(port.encode(long)) == columns(rust.encode(long))


def test_word_level() -> None:
    model: dict[str, Any] = {"type": "WordLevel", "vocab": {"a": 0, "b c": 1, "[UNK]": 2}, "unk_token": "[UNK]"}
    texts = ["", "a", "b c", "a b", "x", "é a"]
    assert_same(spec(model=model), texts)
    assert_same(spec(model=model, pre_tokenizer={"type": "WhitespaceSplit"}), texts)
    assert_same(spec(model=model | {"unk_token": "missing"}), texts)
    with pytest.raises(TokenizerError, match="lacks 'unk_token'"):
        Tokenizer.from_str(json.dumps(spec(model={"type": "WordLevel", "vocab": {}})))
