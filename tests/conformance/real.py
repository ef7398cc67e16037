"""The real tokenizers in both implementations, and the texts to compare them on."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from functools import cache

from fetch_sources import fetch_all
from fetch_tokenizers import TOKENIZERS, path_of
from sentiment_data import load_split

from edgeinfer_browser.tokenizers import TokenizerLike, load_tokenizer
from tests.conformance.compare import Question, questions
from tests.conformance.samples import Samples

Pair = tuple[TokenizerLike, TokenizerLike]


def names() -> list[str]:
    """The tokenizers that are on this machine; all but the very large one must be."""
    return [name for name, wanted in TOKENIZERS.items() if not wanted.big or path_of(name).exists()]


def load(name: str) -> Pair:
    """The Rust library and the port, fresh from the same file."""
    data = path_of(name).read_bytes()
    return load_tokenizer(data), load_tokenizer(data, prefer_rust=False)


@cache
def both(name: str) -> Pair:
    """The same two, loaded once; their options are whatever the last question set."""
    return load(name)


@cache
def vocabulary(name: str) -> tuple[list[str], list[str]]:
    """The model's tokens and the added ones."""
    spec = json.loads(path_of(name).read_bytes())
    vocab = spec["model"]["vocab"]
    tokens = [*vocab] if isinstance(vocab, dict) else [token for token, _ in vocab]
    return tokens, [token["content"] for token in spec["added_tokens"]]


def samples(name: str, seed: str) -> Samples:
    """Random texts with this tokenizer's own tokens among them."""
    return Samples(f"{name} {seed}", *vocabulary(name))


def random_questions(name: str, seed: str, strings: int) -> Iterator[Question]:
    """Questions with so many random texts in all."""
    return questions(samples(name, seed), strings)


@cache
def evaluation_texts() -> list[str]:
    """Every text that this project's models are evaluated on."""
    fetch_all()
    return [html.unescape(text.text) for text in load_split("evaluation")]


def evaluation_questions() -> list[Question]:
    """Each evaluation text alone, in batches of 50 that are cut and padded, and in pairs of neighbours."""
    texts = evaluation_texts()
    cut, fill = {"max_length": 24, "stride": 4}, {"pad_to_multiple_of": 8}
    batches = [texts[start : start + 50] for start in range(0, len(texts), 50)]
    return [
        Question("single", texts),
        *(Question("batch", batch, cut, fill) for batch in batches),
        *(Question("pair", [*pair]) for pair in zip(texts[::2], texts[1::2], strict=True)),
    ]
