"""What the tokenizer promises on its own: exact examples, refusals, laziness, and the choice of implementation."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from edgeinfer_browser.errors import InputError, TokenizerError, UnknownNameError
from edgeinfer_browser.tokenizers import Tokenizer, load_tokenizer
from tests.unit.test_tokenizer_port import BERT_NORMALIZER, TEMPLATE, VOCAB, added, spec


def port(**parts: Any) -> Tokenizer:
    return Tokenizer.from_str(json.dumps(spec(**parts)))


def test_the_sigma_of_a_last_letter_is_an_ordinary_sigma() -> None:
    tokens = port(model=spec()["model"] | {"vocab": VOCAB | {"οδοσ": 900}}).encode("ΟΔΟΣ").tokens
    assert tokens == ["[CLS]", "οδοσ", "[SEP]"]


def test_accents_go_and_offsets_stay_those_of_the_original() -> None:
    encoding = port().encode("  Cafe\u0301 hello")
    assert encoding.tokens == ["[CLS]", "cafe", "hello", "[SEP]"]
    assert encoding.offsets == [(0, 0), (2, 6), (8, 13), (0, 0)]


def test_chinese_characters_are_words_outside_the_first_plane_too() -> None:
    assert port().encode("北京𠀀𠀁").tokens[1:-1] == ["北", "京", "[UNK]", "[UNK]"]


def test_a_special_token_in_the_text_is_neither_lowered_nor_split() -> None:
    assert port().encode("hello [MASK]!").tokens == ["[CLS]", "hello", "[MASK]", "!", "[SEP]"]


def test_a_word_of_a_hundred_code_points_is_the_longest() -> None:
    assert len(port().encode("a" * 100)) == 102
    assert port().encode("a" * 101).tokens == ["[CLS]", "[UNK]", "[SEP]"]
    assert port().encode("𝒶" * 101).offsets[1] == (0, 101)


def test_windows_are_computed_when_asked_for() -> None:
    tokenizer = port()
    tokenizer.enable_truncation(5, stride=1)
    encoding = tokenizer.encode("hello world " * 1000)
    assert callable(encoding.rest)
    tokenizer.no_truncation()
    assert [window.tokens for window in encoding.overflowing[:1]] == [["[CLS]", "hello", "world", "hello", "[SEP]"]]
    assert len(encoding.overflowing) == 999


def test_a_batch_is_padded_to_its_longest() -> None:
    tokenizer = port()
    tokenizer.enable_padding()
    short, long = tokenizer.encode_batch(["hello", "hello world"])
    assert short.ids == [2, VOCAB["hello"], 3, 0]
    assert short.attention_mask == [1, 1, 1, 0]
    assert len(long) == 4
    assert tokenizer.encode_batch([]) == []


def test_the_sequence_of_each_token_of_a_pair() -> None:
    encoding = port().encode("hello", "sunshine")
    assert encoding.n_sequences == 2
    assert encoding.tokens == ["[CLS]", "hello", "[SEP]", "sun", "##s", "##hine", "[SEP]"]
    assert encoding.sequence_ids == [None, 0, None, 1, 1, 1, None]
    assert encoding.type_ids == [0, 0, 0, 1, 1, 1, 1]


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown part": ({"cache": 1}, "unknown option of the file: 'cache'"),
    "version": ({"version": "2.0"}, "version '2.0'"),
    "normalizer": ({"normalizer": {"type": "Fold"}}, "unknown normalizer: 'Fold'. Known: BertNormalizer, "),
    "normalizer option": ({"normalizer": BERT_NORMALIZER | {"fold": True}}, "'fold'. Known: clean_text"),
    "normalizer value": ({"normalizer": BERT_NORMALIZER | {"lowercase": 1}}, "lowercase = 1; it should be bool"),
    "no object": ({"normalizer": "NFD"}, "should be an object"),
    "pre_tokenizer": ({"pre_tokenizer": {"type": "Bytes"}}, "unknown pre_tokenizer: 'Bytes'"),
    "model": ({"model": {"type": "Bigram"}}, "unknown model: 'Bigram'. Known: "),
    "no model": ({"model": None}, "unknown model: None"),
    "model option": ({"model": spec()["model"] | {"dropout": 0.1}}, "unknown option of WordPiece: 'dropout'"),
    "no unk": ({"model": spec()["model"] | {"unk_token": "<unk>"}}, "lacks its unk_token '<unk>'"),
    "no vocab": ({"model": {"type": "WordPiece"}}, "WordPiece in tokenizer.json lacks 'vocab'"),
    "post_processor": ({"post_processor": {"type": "Roberta"}}, "unknown post_processor: 'Roberta'"),
    "template part": ({"post_processor": TEMPLATE | {"single": [{"Word": {}}]}}, "unknown part of a template"),
    "template token": ({"post_processor": TEMPLATE | {"special_tokens": {}}}, "special token of a template: '[CLS]'"),
    "template pair": ({"post_processor": TEMPLATE | {"single": TEMPLATE["pair"]}}, "does not have"),
    "decoder": ({"decoder": {"type": "Bytes"}}, "unknown decoder: 'Bytes'"),
    "added token": ({"added_tokens": [added("x") | {"color": 1}]}, "unknown option of added token: 'color'"),
    "empty added token": ({"added_tokens": [added("\u200b", normalized=True)]}, "leaves nothing of the added token"),
    "truncation": (
        {"truncation": {"max_length": 3, "stride": 0, "strategy": "Middle", "direction": "Left"}},
        "unknown truncation strategy: 'Middle'",
    ),
    "padding": (
        {"padding": {"strategy": "Longest", "direction": "Left"}},
        "lacks 'pad_to_multiple_of'|unknown padding strategy",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_file_may_not_say(name: str) -> None:
    parts, message = BROKEN[name]
    with pytest.raises(TokenizerError) as caught:
        port(**parts)
    assert any(part in str(caught.value) for part in message.split("|"))


@pytest.mark.parametrize("data", [b"nope", b"[]", b"\xff\xfe", b"{}"])
def test_what_is_no_tokenizer_file(data: bytes) -> None:
    for prefer_rust in (True, False):
        with pytest.raises(TokenizerError):
            load_tokenizer(data, prefer_rust=prefer_rust)


def test_a_model_without_type_is_known_by_its_options() -> None:
    model = {name: value for name, value in spec()["model"].items() if name != "type"}
    assert port(model=model).encode("hello").tokens == ["[CLS]", "hello", "[SEP]"]


def test_what_may_not_be_encoded() -> None:
    tokenizer = port()
    wrong: list[tuple[Any, ...]] = [(None,), (["a"],), (b"a",), ("a", ["b"]), ("a", None, True), ([1], None, True)]
    for arguments in wrong:
        with pytest.raises(InputError):
            tokenizer.encode(*arguments)
    for batch in ([1], [("a", "b", "c")]):
        with pytest.raises(InputError):
            tokenizer.encode_batch(batch)


def test_options_that_cannot_be() -> None:
    tokenizer = port()
    with pytest.raises(UnknownNameError, match="Known: longest_first, only_first, only_second"):
        tokenizer.enable_truncation(5, strategy="middle")
    with pytest.raises(UnknownNameError, match="Known: left, right"):
        tokenizer.enable_padding(direction="up")
    with pytest.raises(InputError):
        tokenizer.enable_truncation(-1)
    tokenizer.enable_truncation(4, stride=2)
    with pytest.raises(InputError, match="stride = 2"):
        tokenizer.encode("hello world hello world")


def test_the_rust_library_when_there_is_one() -> None:
    data = json.dumps(spec()).encode()
    rust, python = load_tokenizer(data), load_tokenizer(data, prefer_rust=False)
    assert (rust.implementation, python.implementation) == ("rust", "python")
    for tokenizer in (rust, python):
        tokenizer.enable_truncation(8)
        tokenizer.enable_padding(length=8)
        assert tokenizer.truncation == {
            "max_length": 8,
            "stride": 0,
            "strategy": "longest_first",
            "direction": "right",
        }
        assert tokenizer.padding is not None
        encoding = tokenizer.encode("hello", "world")
        assert encoding.tokens[:5] == ["[CLS]", "hello", "[SEP]", "world", "[SEP]"]
        assert [len(item) for item in tokenizer.encode_batch(["hello", ("a", "b")])] == [8, 8]
        assert tokenizer.decode(encoding.ids) == "hello world"
        assert tokenizer.decode_batch([encoding.ids]) == ["hello world"]
        assert tokenizer.id_to_token(tokenizer.token_to_id("hello") or 0) == "hello"
        assert tokenizer.get_vocab_size() == len(VOCAB)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        assert [tokenizer.truncation, tokenizer.padding] == [None, None]
        with pytest.raises(InputError):
            tokenizer.encode(None)  # type: ignore[arg-type]
        with pytest.raises(UnknownNameError):
            tokenizer.enable_truncation(5, direction="up")


def test_a_panic_of_the_rust_library_is_an_error_like_any_other() -> None:
    tokenizer = load_tokenizer(json.dumps(spec()).encode())
    tokenizer.enable_truncation(4, stride=2)
    with pytest.raises(InputError, match="stride"):
        tokenizer.encode("hello world hello world")


def test_the_port_when_there_is_no_rust_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert load_tokenizer(json.dumps(spec()).encode()).implementation == "python"
