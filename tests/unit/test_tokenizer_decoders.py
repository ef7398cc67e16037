"""Decoders, one for each option and in sequences, against the Rust library."""

from __future__ import annotations

import json
import random

import pytest

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import Tokenizer
from edgeinfer_browser.tokenizers.byte_level import CHARS
from tests.unit.tokenizer_oracle import Spec, added, answer, both, spec

TOKENS = (
    "a|b| a|##b|##|▁a|▁▁b|▁|a▁b|Ġa|Ċ|âĢ|Ļ|é|😀|a</w>|</w>|<0xE2>|<0x82>|<0xAC>|<0x41>|<0x+A>|<0xGG>|<0xé>|<0x4>|<0xff>"
    "|<pad>|<pad>a| .|n't| n't| do not|'|  |   | ' x|aa|aab|baa|ab_c|_|\u2003|ÿ|ð|Ł|ĺ|Ģ|\ufffd|ab|\n|zz top"
)
VOCAB = {token: key for key, token in enumerate(["<unk>", *TOKENS.split("|")])}
WORD_LEVEL = {"type": "WordLevel", "vocab": VOCAB, "unk_token": "<unk>"}
ADDED = [added("<pad>", VOCAB["<pad>"], special=True), added("zz top", VOCAB["zz top"]), added("<s> é", len(VOCAB))]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
DECODERS: list[Spec] = [
    BYTE_LEVEL,
    *({"type": "BPEDecoder", "suffix": suffix} for suffix in ("</w>", "")),
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "", "cleanup": False},
    {"type": "Fuse"},
    {"type": "ByteFallback"},
    *({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "_", "cleanup": flag} for flag in (True, False)),
    *({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme} for scheme in ("always", "first", "never")),
    *(
        {"type": "Strip", "content": char, "start": start, "stop": stop}
        for char in "a ▁"
        for start in range(3)
        for stop in range(3)
    ),
    *(
        {"type": "Replace", "pattern": pattern, "content": content}
        for pattern in ({"String": "▁"}, {"String": ""}, {"Regex": "a*"}, {"Regex": r"\s+|$"}, {"String": "ab"})
        for content in (" ", "", "xy")
    ),
]
REFUSED: dict[str, tuple[Spec, str]] = {
    "name": ({"type": "Spaces"}, "unknown decoder: 'Spaces'. Known: BPEDecoder, ByteFallback"),
    "option": ({"type": "Fuse", "glue": ""}, "unknown option of Fuse: 'glue'"),
    "lacking": ({"type": "CTC", "pad_token": "", "cleanup": True}, "lacks 'word_delimiter_token'"),
    "content": ({"type": "Strip", "content": "ab", "start": 0, "stop": 0}, "one character"),
    "inside": ({"type": "Sequence", "decoders": [{"type": "X"}]}, "unknown decoder: 'X'"),
}


def assert_decodes_the_same(decoder: Spec, source: random.Random, count: int) -> None:
    rust, port = both(spec(decoder=decoder, model=WORD_LEVEL, added_tokens=ADDED))
    for _ in range(count):
        ids = [source.randrange(len(VOCAB) + 4) for _ in range(source.randrange(8))]
        skip = source.random() < 0.5
        ours, theirs = answer(port.decode, ids, skip), answer(rust.decode, ids, skip)
        assert ours == theirs, [*map(rust.id_to_token, ids)]


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda each: json.dumps(each)[9:90])
def test_each(decoder: Spec) -> None:
    assert_decodes_the_same(decoder, random.Random(1), 200)


@pytest.mark.parametrize("seed", range(60))
def test_sequences(seed: int) -> None:
    source = random.Random(seed)
    decoders = source.choices(DECODERS, k=source.randrange(5))
    assert_decodes_the_same({"type": "Sequence", "decoders": decoders}, source, 60)


def test_bytes_that_are_no_text() -> None:
    vocab = {char: byte for byte, char in enumerate(CHARS)}
    rust, port = both(spec(decoder=BYTE_LEVEL, model=WORD_LEVEL | {"vocab": vocab, "unk_token": "a"}))
    source = random.Random(1)
    telling = [0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 0xED, 0xA0, 0xC0, 0xF4, 0x90, 0x41, 0xFF]
    for _ in range(3_000):
        ids = [*source.choices(telling, k=source.randrange(9)), *source.randbytes(source.randrange(4))]
        assert port.decode(ids) == rust.decode(ids), bytes(ids)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    decoder, message = REFUSED[name]
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_str(json.dumps(spec(decoder=decoder)))
