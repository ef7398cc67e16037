"""A megabyte of one thing: the time grows with the length alone, and the answer is still that of the Rust library."""

from __future__ import annotations

import time

import pytest

from tests.conformance.real import both

TEXTS = {"a": "a", "space": " ", "emoji": "👍🏽", "CJK": "好"}
#: One of each family.
NAMES = ("minilm", "gpt2", "llama2", "t5")
MEGABYTE = 1_000_000
#: How many times as long a text of four times the length may take; a quadratic one takes 16 times.
FACTOR = 9


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_megabyte_takes_seconds(name: str, kind: str) -> None:
    rust, port = both(name)
    for tokenizer in (rust, port):
        tokenizer.no_truncation()
        tokenizer.no_padding()
    text = TEXTS[kind] * (MEGABYTE // len(TEXTS[kind].encode()))
    quarter, whole = (_seconds(lambda part=part: port.encode(part)) for part in (text[: len(text) // 4], text))
    assert whole < max(0.3, FACTOR * quarter)
    ours, theirs = port.encode(text), rust.encode(text)
    assert ours.ids == theirs.ids
    assert ours.offsets == theirs.offsets


def _seconds(work: object) -> float:
    assert callable(work)
    before = time.process_time()
    work()
    return time.process_time() - before
