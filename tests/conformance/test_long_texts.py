"""A megabyte of one thing: the answer is still that of the Rust library, and it comes. A quadratic one would not."""

from __future__ import annotations

import pytest

from tests.conformance.real import both

TEXTS = {"a": "a", "space": " ", "emoji": "👍🏽", "CJK": "好"}
#: One of each family.
NAMES = ("minilm", "gpt2", "llama2", "t5")
MEGABYTE = 1_000_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_megabyte_is_encoded_as_rust_does(name: str, kind: str) -> None:
    rust, port = both(name)
    for tokenizer in (rust, port):
        tokenizer.no_truncation()
        tokenizer.no_padding()
    text = TEXTS[kind] * (MEGABYTE // len(TEXTS[kind].encode()))
    ours, theirs = port.encode(text), rust.encode(text)
    assert ours.ids == theirs.ids
    assert ours.offsets == theirs.offsets
