"""The port gives the Rust library's ids inside Pyodide too, whose Unicode tables are of another version."""

from __future__ import annotations

import json
import random

import pytest
import tokenizers
from playwright.sync_api import Page
from sentiment_data import load_split

from tests.browser.conftest import SENTIMENT
from tests.pyodide.conftest import RUNTIMES
from tests.pyodide.hosts import install, python

ENCODE = """
import json
from pyodide.http import pyfetch
from edgeinfer_browser.tokenizers import load_tokenizer
tokenizer = load_tokenizer(await (await pyfetch("/models/sentiment/tokenizer.json")).bytes())
assert tokenizer.implementation == "python"
encodings = [tokenizer.encode(text) for text in json.loads({texts!r})]
json.dumps([[list(e.ids), [list(pair) for pair in e.offsets]] for e in encodings])
"""


def _random_texts(count: int) -> list[str]:
    """From all of Unicode but the surrogates, assigned or not."""
    rng = random.Random(20)
    points = [*range(0xD800), *range(0xE000, 0x110000)]
    return ["".join(map(chr, rng.choices(points, k=rng.randint(1, 24)))) for _ in range(count)]


@pytest.mark.parametrize("version", RUNTIMES)
def test_ids_and_offsets_equal_the_rust_library(page: Page, python_site: str, wheel_name: str, version: str) -> None:
    texts = [text.text for text in load_split("evaluation")[:300]] + _random_texts(1_000)
    reference = tokenizers.Tokenizer.from_file(str(SENTIMENT / "tokenizer.json"))
    expected = [[list(e.ids), [list(pair) for pair in e.offsets]] for e in reference.encode_batch(texts)]
    run = python(page, version)
    install(run, version, python_site, wheel_name)
    actual = run(ENCODE.format(texts=json.dumps(texts)))
    assert [text for text, a, e in zip(texts, actual, expected, strict=True) if a != e] == []
