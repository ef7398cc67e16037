"""A tokenizer for each component and option, in the port against the Rust library."""

from __future__ import annotations

import json

import pytest

from edgeinfer_browser.tokenizers import load_tokenizer
from tests.conformance.compare import difference, differences, questions
from tests.conformance.samples import Samples
from tests.conformance.synthetic import cases
from tests.conformance.synthetic_models import WORDS

CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_rust_library(name: str) -> None:
    data = json.dumps(CASES[name]).encode()
    rust, port = load_tokenizer(data), load_tokenizer(data, prefer_rust=False)
    added = [token["content"] for token in CASES[name]["added_tokens"]]
    found = differences(rust, port, [*questions(Samples(name, WORDS, added), 60)])
    assert found == [], "\n".join(difference(rust, port, question) for question in found[:3])
