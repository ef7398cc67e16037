"""Every real tokenizer in the port against the Rust library: all columns, windows and decoded texts, to the last id.

This is a seeded slice; ``make conformance-full`` asks 200,000 strings of each.
"""

from __future__ import annotations

import random

import pytest

from tests.conformance.compare import Question, difference, differences
from tests.conformance.real import both, evaluation_questions, evaluation_texts, load, names, random_questions, samples
from tests.conformance.tokenizer_samples import columns

NAMES = names()


def _none(name: str, asked: list[Question]) -> None:
    found = differences(*both(name), asked)
    assert found == [], "\n".join(difference(*both(name), question) for question in found[:5])


@pytest.mark.parametrize("name", NAMES)
def test_random_texts_in_every_way(name: str) -> None:
    _none(name, [*random_questions(name, "slice", 2_500)])


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_text(name: str) -> None:
    source = samples(name, "kinds")
    _none(name, [Question("single", [make() for _ in range(30)]) for make in source.kinds.values()])


@pytest.mark.parametrize("name", NAMES)
def test_all_evaluation_texts(name: str) -> None:
    _none(name, evaluation_questions())


@pytest.mark.parametrize("name", ["minilm", "t5", "tokenlearn"])
def test_the_options_of_the_file(name: str) -> None:
    rust, port = load(name)
    assert (port.truncation, port.padding) == (rust.truncation, rust.padding)
    texts = evaluation_texts()[:50]
    expected = [columns(encoding) for encoding in rust.encode_batch(texts)]
    assert [columns(encoding) for encoding in port.encode_batch(texts)] == expected


@pytest.mark.parametrize("name", NAMES)
def test_decoding_any_ids(name: str) -> None:
    rust, port = both(name)
    rng = random.Random(name)
    size = rust.get_vocab_size()
    batch = [[rng.randrange(size + 3) for _ in range(rng.randrange(12))] for _ in range(500)]
    for skip in (True, False):
        assert port.decode_batch(batch, skip) == rust.decode_batch(batch, skip)


@pytest.mark.parametrize("name", NAMES)
def test_the_vocabulary(name: str) -> None:
    rust, port = both(name)
    size = rust.get_vocab_size()
    assert (port.get_vocab_size(), port.get_vocab_size(False)) == (size, rust.get_vocab_size(False))
    some = random.Random(name).sample(range(size + 5), 2_000)
    tokens = [rust.id_to_token(key) for key in some]
    assert [port.id_to_token(key) for key in some] == tokens
    known = [token for token in tokens if token is not None]
    assert [port.token_to_id(token) for token in known] == [rust.token_to_id(token) for token in known]
