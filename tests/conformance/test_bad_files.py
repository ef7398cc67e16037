"""Files that are broken in one place: an error of ours that names the component and the place, never a guess."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers import Tokenizer, load_tokenizer
from tests.conformance import synthetic_models as models
from tests.conformance.synthetic import BYTE_LEVEL, PREFIXED, charsmap, template, whole
from tests.conformance.synthetic_models import Spec

SEE = models.see_all()
CHARSMAP = base64.b64decode(charsmap()["precompiled_charsmap"])


def _charsmap(data: bytes) -> Spec:
    return whole(SEE, normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()})


def _without(spec: Spec, name: str) -> Spec:
    return {key: value for key, value in spec.items() if key != name}


def _sequence(kind: str, parts: str, *inner: Any) -> Spec:
    return whole(SEE, **{kind: {"type": "Sequence", parts: [*inner]}})


def _split(pattern: Any) -> Spec:
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    return whole(SEE, pre_tokenizer=split)


BPE, UNIGRAM, WORDPIECE = models.bpe(), models.unigram(), models.wordpiece()
LEVEL, WORDS = models.byte_level_bpe(), models.word_level()
TWICE = {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3, "b": 3}

#: What is wrong -> the file, and words that the message must have.
FILES: dict[str, tuple[Spec, tuple[str, ...]]] = {
    "no model": (_without(whole(SEE), "model"), ("model",)),
    "model is null": (whole(SEE) | {"model": None}, ("model",)),
    "model is a list": (whole(SEE) | {"model": []}, ("model",)),
    "unknown model": (whole(SEE | {"type": "Trigram"}), ("model", "Trigram", "BPE")),
    "unknown part": (whole(SEE) | {"postprocessor": None}, ("postprocessor",)),
    "version": (whole(SEE) | {"version": "1.1"}, ("version", "1.1")),
    "unknown normalizer": (whole(SEE, normalizer={"type": "NFX"}), ("normalizer", "NFX", "NFC")),
    "unknown pre-tokenizer": (whole(SEE, pre_tokenizer={"type": "Spaces"}), ("pre_tokenizer", "Spaces", "Whitespace")),
    "unknown post-processor": (whole(SEE, post_processor={"type": "Gpt"}), ("post_processor", "Gpt", "Roberta")),
    "unknown decoder": (whole(SEE, decoder={"type": "Join"}), ("decoder", "Join", "Fuse")),
    "unknown in a sequence of normalizers": (
        _sequence("normalizer", "normalizers", {"type": "NFC"}, {"type": "NFX"}),
        ("normalizer", "NFX"),
    ),
    "unknown in a sequence of pre-tokenizers": (
        _sequence("pre_tokenizer", "pretokenizers", PREFIXED, {"type": "Spaces"}),
        ("pre_tokenizer", "Spaces"),
    ),
    "unknown in a sequence of decoders": (
        _sequence("decoder", "decoders", {"type": "Fuse"}, {"type": "Join"}),
        ("decoder", "Join"),
    ),
    "unknown in a sequence of post-processors": (
        _sequence("post_processor", "processors", BYTE_LEVEL, {"type": "Gpt"}),
        ("post_processor", "Gpt"),
    ),
    "option of BPE": (whole(BPE | {"byte_fall_back": True}), ("BPE", "byte_fall_back")),
    "option of Unigram": (whole(UNIGRAM | {"alpha": 0.1}), ("Unigram", "alpha")),
    "option of WordLevel": (whole(WORDS | {"cased": True}), ("WordLevel", "cased")),
    "option of WordPiece": (whole(WORDPIECE | {"cased": True}), ("WordPiece", "cased")),
    "option of Metaspace": (whole(SEE, pre_tokenizer=PREFIXED | {"trim": True}), ("Metaspace", "trim")),
    "option of ByteLevel": (whole(LEVEL, pre_tokenizer=BYTE_LEVEL | {"regex": True}), ("ByteLevel", "regex")),
    "option of Strip": (
        whole(SEE, normalizer={"type": "Strip", "strip_left": True, "strip_right": True, "chars": "a"}),
        ("Strip", "chars"),
    ),
    "behavior of Punctuation": (
        whole(SEE, pre_tokenizer={"type": "Punctuation", "behavior": "Dropped"}),
        ("Punctuation", "Dropped", "Isolated"),
    ),
    "behavior of Split": (
        whole(SEE, pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "X", "invert": False}),
        ("Split", "'X'", "Isolated"),
    ),
    "prepend scheme": (whole(SEE, pre_tokenizer=PREFIXED | {"prepend_scheme": "last"}), ("Metaspace", "last", "first")),
    "kind of pattern": (_split({"Glob": "*"}), ("pattern", "Glob")),
    "pattern is not a regular expression": (_split({"Regex": "(a"}), ("(a",)),
    "pattern with a construct that is refused": (_split({"Regex": r"(?<=a+)b\Gc"}), ("(?<=a+)b",)),
    "pattern of Replace": (
        whole(SEE, normalizer={"type": "Replace", "pattern": {"Regex": "[a"}, "content": ""}),
        ("[a",),
    ),
    "id twice in WordPiece": (whole(WORDPIECE | {"vocab": TWICE}), ("WordPiece", "'a'", "'b'", "3")),
    "id twice in BPE": (whole(BPE | {"vocab": TWICE, "merges": []}), ("BPE", "'a'", "'b'", "3")),
    "id twice in WordLevel": (whole(WORDS | {"vocab": TWICE}), ("WordLevel", "'a'", "'b'", "3")),
    "id is no number": (whole(BPE | {"vocab": {"<unk>": "0"}, "merges": []}), ("BPE", "<unk>")),
    "id below 0": (whole(BPE | {"vocab": {"<unk>": -1}, "merges": []}), ("BPE", "<unk>")),
    "merge of an unknown token": (whole(BPE | {"merges": [*BPE["merges"][:1], ["a", "☃"]]}), ("BPE", "Merge 1", "☃")),
    "merge into an unknown token": (whole(BPE | {"merges": [["<unk>", "a"]]}), ("BPE", "Merge 0", "<unk>a")),
    "merge of three": (whole(BPE | {"merges": [["a", "b", "c"]]}), ("BPE", "Merge 0")),
    "merge as a string of three": (whole(BPE | {"merges": ["a b c"]}), ("BPE", "Merge 0")),
    "merge of numbers": (whole(BPE | {"merges": [[1, 2]]}), ("BPE", "Merge 0")),
    "merges are missing": (whole(_without(BPE, "merges")), ("BPE", "merges")),
    "unknown unk_token of BPE": (whole(BPE | {"unk_token": 5}), ("BPE", "unk_token")),
    "dropout": (whole(BPE | {"dropout": 0.5}), ("BPE", "dropout")),
    "unk_id of Unigram": (whole(UNIGRAM | {"unk_id": 10**6}), ("Unigram", "unk_id")),
    "vocab of Unigram": (whole(UNIGRAM | {"vocab": {"a": 1}}), ("Unigram", "vocab")),
    "entry of Unigram": (whole(UNIGRAM | {"vocab": [["a", 0.0], ["b"]]}), ("Unigram", "vocab", "1")),
    "score of Unigram": (whole(UNIGRAM | {"vocab": [["a", 0.0], ["b", "x"]]}), ("Unigram", "vocab", "1")),
    "charsmap is cut off": (_charsmap(CHARSMAP[: len(CHARSMAP) // 8]), ("Precompiled", "precompiled_charsmap")),
    "charsmap of 3 bytes": (_charsmap(CHARSMAP[:3]), ("Precompiled", "precompiled_charsmap")),
    "charsmap is empty": (_charsmap(b""), ("Precompiled", "precompiled_charsmap")),
    "charsmap of odd size": (_charsmap(b"\x07\0\0\0" + CHARSMAP[4:50]), ("Precompiled", "precompiled_charsmap")),
    "charsmap is not base 64": (
        whole(SEE, normalizer={"type": "Precompiled", "precompiled_charsmap": "A*"}),
        ("Precompiled", "precompiled_charsmap"),
    ),
    "special token of a template": (
        whole(SEE, post_processor=template() | {"special_tokens": {}}),
        ("template", "<s>"),
    ),
    "added token is text": (whole(SEE) | {"added_tokens": ["<s>"]}, ("added",)),
    "added token without content": (whole(SEE) | {"added_tokens": [{"id": 1}]}, ("added token", "content")),
    "added tokens are an object": (whole(SEE) | {"added_tokens": {"<s>": 1}}, ("added_tokens",)),
}


@pytest.mark.parametrize("name", FILES)
def test_the_message_names_the_component_and_the_place(name: str) -> None:
    spec, words = FILES[name]
    with pytest.raises(TokenizerError) as caught:
        Tokenizer.from_str(json.dumps(spec))
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "JSON"),
        (b"{", "line 1 column"),
        (b'{"version": "1.0",}', "line 1 column"),
        (b"[" * 100_000, "JSON"),
        (b'{"a":' * 100_000, "JSON"),
        (b"\xff{}", "UTF-8"),
        (b"[]", "object"),
        (b"3", "object"),
        (b"null", "object"),
    ],
)
def test_what_is_no_tokenizer_json(data: bytes, word: str) -> None:
    with pytest.raises(TokenizerError, match=word):
        Tokenizer.from_buffer(data)


@pytest.mark.parametrize("prefer_rust", [True, False])
def test_half_a_surrogate_pair_is_an_input_error(prefer_rust: bool) -> None:
    tokenizer = load_tokenizer(json.dumps(whole(SEE)).encode(), prefer_rust=prefer_rust)
    calls: list[Callable[[], object]] = [
        lambda: tokenizer.encode("a\ud83d"),
        lambda: tokenizer.encode("fine", "\ud83d\ude00"),
        lambda: tokenizer.encode_batch(["fine", ("fine", "\udc00")]),
        lambda: tokenizer.encode(["fine", "\udfff"], is_pretokenized=True),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call()
