"""The port against the Rust library: random texts through random components and options, with a tiny vocabulary."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tokenizers import Tokenizer as Rust

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.tokenizers import EncodingLike, Tokenizer, TokenizerLike, load_tokenizer
from tests.conformance.tokenizer_samples import STRANGE, Texts, columns

Spec = dict[str, Any]
WORDS = ["hello", "world", "un", "##believ", "##able", "cafe", "caf", "sun", "##s", "##hine", "σ", "##δοσ", "北", "京"]
LETTERS = [prefix + char for prefix in ("", "##") for char in string.ascii_letters + string.punctuation]
VOCAB = {
    token: index
    for index, token in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *LETTERS]))
}


def added(content: str, **flags: bool) -> Spec:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": 0, "content": content} | dict.fromkeys(names, False) | flags


SPECIAL = [added(token, special=True) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
ADDED = [
    *SPECIAL,
    added("FOO", single_word=True),
    added("<L>", lstrip=True),
    added("<R>", rstrip=True, special=True),
    added("Café", normalized=True),
    added("hello world"),
    added("hello"),
    added(" x"),
    added("ok ok", normalized=True, single_word=True),
    added("é!", normalized=True, lstrip=True),
]


def sequence(name: str, type_id: int) -> Spec:
    return {"Sequence": {"id": name, "type_id": type_id}}


def special(name: str, type_id: int) -> Spec:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


TOKENS = {name: {"id": name, "ids": [VOCAB[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
TEMPLATE: Spec = {
    "type": "TemplateProcessing",
    "single": [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)],
    "pair": [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0), sequence("B", 1), special("[SEP]", 1)],
    "special_tokens": TOKENS,
}
ODD_TEMPLATE: Spec = {
    "type": "TemplateProcessing",
    "single": [special("[SEP]", 1), sequence("A", 2), special("[CLS]", 0), sequence("A", 1)],
    "pair": [sequence("B", 3), special("[SEP]", 1), sequence("A", 2)],
    "special_tokens": TOKENS | {"[SEP]": {"id": "[SEP]", "ids": [3, 4], "tokens": ["[SEP]", "[MASK]"]}},
}
BERT_PROCESSING: Spec = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
BERT_NORMALIZER: Spec = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}


def spec(**parts: Any) -> Spec:
    """A tokenizer.json as BERT has it, with some parts replaced."""
    model = {"type": "WordPiece", "vocab": VOCAB, "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": SPECIAL,
        "normalizer": BERT_NORMALIZER,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": TEMPLATE,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": model | {"max_input_chars_per_word": 100},
    }
    return whole | parts


def both(**parts: Any) -> tuple[Rust, Tokenizer]:
    text = json.dumps(spec(**parts))
    return Rust.from_str(text), Tokenizer.from_str(text)


def pieces(source: Texts) -> str:
    """A text made of added tokens and what may stand around them."""
    contents = [token["content"] for token in ADDED]
    around = [" ", "  ", "a", "_", "é", "\n", "OK", "\u00a0", "cafe\u0301", source.text()[:2]]
    return "".join(source.random.choices(contents + around, k=source.random.randrange(10)))


def random_normalizer(rng: random.Random) -> Spec | None:
    kinds = ("NFD", "NFKD", "Lowercase", "StripAccents")
    parts = [{"type": rng.choice(kinds)} for _ in range(rng.randrange(4))]
    flags = {name: rng.random() < 0.6 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
    bert = {"type": "BertNormalizer", "strip_accents": rng.choice((None, True, False))} | flags
    return rng.choice((bert, bert, {"type": "Sequence", "normalizers": parts}, None))


def random_parts(rng: random.Random) -> Spec:
    tokens = rng.sample(ADDED, len(ADDED))
    model = spec()["model"] | {"max_input_chars_per_word": rng.choice((100, 3, 7, 0))}
    processors = (TEMPLATE, ODD_TEMPLATE, BERT_PROCESSING, None)
    return {
        "added_tokens": tokens,
        "normalizer": random_normalizer(rng),
        "pre_tokenizer": rng.choice(({"type": "BertPreTokenizer"}, {"type": "BertPreTokenizer"}, None)),
        "post_processor": rng.choice(processors),
        "model": model,
    }


def set_options(rng: random.Random, *tokenizers: TokenizerLike) -> None:
    max_length, stride = rng.choice(((0, 0), (3, 0), (5, 0), (8, 1), (12, 2), (30, 0)))
    strategy = rng.choice(("longest_first", "longest_first", "only_first", "only_second"))
    sides = ("left", "right")
    cut: Spec = {"max_length": max_length, "stride": stride, "strategy": strategy, "direction": rng.choice(sides)}
    fill: Spec = {"direction": rng.choice(sides), "pad_id": 1, "pad_type_id": rng.randrange(3), "pad_token": "P"}
    fill |= {"length": rng.choice((None, 5, 20)), "pad_to_multiple_of": rng.choice((None, 0, 8, 3))}
    cuts, fills = rng.random() < 0.7, rng.random() < 0.5
    for tokenizer in tokenizers:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if cuts:
            tokenizer.enable_truncation(**cut)
        if fills:
            tokenizer.enable_padding(**fill)


def outcome(call: Callable[[TokenizerLike], Sequence[EncodingLike]], tokenizer: TokenizerLike) -> Any:
    """What the call gives, or that it refuses (the two word their refusals differently)."""
    try:
        return [columns(encoding) for encoding in call(tokenizer)]
    except InputError:
        return "refused"


#: Ways to encode up to four texts, with or without special tokens.
CALLS: tuple[Callable[[list[str], bool], Callable[[TokenizerLike], Sequence[EncodingLike]]], ...] = (
    lambda t, s: lambda one: [one.encode(t[0], add_special_tokens=s)],
    lambda t, s: lambda one: [one.encode(t[0], t[1], add_special_tokens=s)],
    lambda t, s: lambda one: [one.encode(t, t[:2], is_pretokenized=True, add_special_tokens=s)],
    lambda t, s: lambda one: one.encode_batch([t[0], (t[1], t[2]), t[3]], add_special_tokens=s),
)


@pytest.mark.parametrize("seed", range(100))
def test_random_components_and_options(seed: int) -> None:
    source = Texts(seed, WORDS)
    rng = source.random
    data = json.dumps(spec(**random_parts(rng))).encode()
    rust, port = load_tokenizer(data), load_tokenizer(data, prefer_rust=False)
    for _ in range(25):
        set_options(rng, rust, port)
        assert port.truncation == rust.truncation
        assert port.padding == rust.padding
        texts = [rng.choice((source.text(), pieces(source))) for _ in range(4)]
        call = rng.choice(CALLS)(texts, rng.random() < 0.7)
        assert outcome(call, port) == outcome(call, rust), (port.truncation, ascii(texts))


@pytest.mark.parametrize("text", STRANGE)
def test_strange_texts(text: str) -> None:
    rust, port = both()
    assert columns(port.encode(text)) == columns(rust.encode(text))


@pytest.mark.parametrize("seed", range(5))
def test_decoding(seed: int) -> None:
    rng = random.Random(seed)
    decoder = rng.choice((None, spec()["decoder"], {"type": "WordPiece", "prefix": "", "cleanup": False}))
    rust, port = both(added_tokens=ADDED, decoder=decoder)
    size = rust.get_vocab_size()
    batch = [[rng.randrange(size + 5) for _ in range(20)] for _ in range(50)]
    for skip in (True, False):
        assert port.decode_batch(batch, skip) == rust.decode_batch(batch, skip)
    assert [port.id_to_token(key) for key in range(size + 5)] == [rust.id_to_token(key) for key in range(size + 5)]
    tokens = [*VOCAB, "Café", "café", "nowhere"]
    assert [port.token_to_id(token) for token in tokens] == [rust.token_to_id(token) for token in tokens]
    assert (port.get_vocab_size(), port.get_vocab_size(False)) == (size, rust.get_vocab_size(False))


def test_options_of_the_file_are_read() -> None:
    cut = {"max_length": 6, "strategy": "OnlyFirst", "stride": 1, "direction": "Left"}
    fill = {"strategy": {"Fixed": 9}, "direction": "Left", "pad_to_multiple_of": 4, "pad_id": 1, "pad_type_id": 2}
    rust, port = both(truncation=cut, padding=fill | {"pad_token": "[UNK]"})
    assert (port.truncation, port.padding) == (rust.truncation, rust.padding)
    text = "unbelievable sunshine in the world"
    assert columns(port.encode(text)) == columns(rust.encode(text))
