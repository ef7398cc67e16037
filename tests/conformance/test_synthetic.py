"""A tokenizer for each component and option, in the port against the Rust library."""

from __future__ import annotations

import json

import pytest

from edgeinfer_browser.tokenizers import load_tokenizer
from tests.conformance.compare import difference, differences, questions
from tests.conformance.samples import Samples
from tests.conformance.synthetic import cases, combination
from tests.conformance.synthetic_models import WORDS, Spec

CASES = cases()


def _check(name: str, spec: Spec, strings: int) -> None:
    data = json.dumps(spec).encode()
    rust, port = load_tokenizer(data), load_tokenizer(data, prefer_rust=False)
    added = [token["content"] for token in spec["added_tokens"]]
    found = differences(rust, port, [*questions(Samples(name, WORDS, added), strings)])
    assert found == [], "\n".join(difference(rust, port, question) for question in found[:3])


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_rust_library(name: str) -> None:
    _check(name, CASES[name], 50)


@pytest.mark.parametrize("seed", range(60))
def test_random_components_together(seed: int) -> None:
    _check(f"together {seed}", combination(seed), 25)
