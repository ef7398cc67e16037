"""The port against the Rust library with a real vocabulary: every column, to the last id."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Rust

from edgeinfer_browser.tokenizers import Tokenizer, unicode_tables
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.normalizers import normalizer
from tests.conformance.tokenizer_samples import Texts, columns

FILE = Path(__file__).parents[2] / "build" / "models" / "sentiment" / "tokenizer.json"
Pair = tuple[Rust, Tokenizer]


@pytest.fixture(scope="module")
def both() -> Pair:
    if not FILE.exists():
        pytest.fail(f"{FILE.relative_to(FILE.parents[3])} is missing: run make model")
    pair = Rust.from_file(str(FILE)), Tokenizer.from_file(FILE)
    for tokenizer in pair:
        tokenizer.no_padding()
        tokenizer.no_truncation()
    return pair


@pytest.fixture(scope="module")
def words(both: Pair) -> list[str]:
    return sorted(both[0].get_vocab())


def test_random_texts(both: Pair, words: list[str]) -> None:
    rust, port = both
    texts = Texts(1, words).texts(50_000)
    for text in texts:
        assert columns(port.encode(text)) == columns(rust.encode(text)), ascii(text)


def test_random_pairs_and_windows(both: Pair, words: list[str]) -> None:
    rust, port = Rust.from_str(both[0].to_str()), Tokenizer.from_file(FILE)
    source = Texts(2, words)
    port.no_padding()
    for _ in range(2_000):
        options: dict[str, Any] = {
            "max_length": source.random.randrange(10, 20),
            "stride": source.random.randrange(3),
            "direction": source.random.choice(("left", "right")),
        }
        rust.enable_truncation(**options)
        port.enable_truncation(**options)
        first, second = source.text(), source.random.choice((None, source.text()))
        assert columns(port.encode(first, second)) == columns(rust.encode(first, second)), ascii((first, second))


def test_a_book_is_cut_where_the_rust_library_cuts_it(both: Pair, words: list[str]) -> None:
    rust, port = Rust.from_str(both[0].to_str()), Tokenizer.from_file(FILE)
    source = Texts(3, words)
    book = " ".join(source.random.choice(words) for _ in range(150_000))
    assert len(book) > 1_000_000
    port.no_padding()
    for tokenizer in (rust, port):
        tokenizer.enable_truncation(256, stride=32)
    assert columns(port.encode(book)) == columns(rust.encode(book))


def test_every_code_point_has_the_normal_form_of_the_rust_library() -> None:
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    bert: dict[str, Any] = {"type": "BertNormalizer"} | off
    on: dict[str, Any] = dict.fromkeys(off, True) | {"type": "BertNormalizer", "strip_accents": None}
    specs: list[dict[str, Any]] = [
        {"type": "NFD"},
        {"type": "NFKD"},
        {"type": "Lowercase"},
        bert | {"strip_accents": True},
        on,
        *({"type": name} for name in ("NFC", "NFKC", "Nmt", "StripAccents")),
    ]
    codes = [code for code in range(0x110000) if code < 0x40000 or code >> 12 == 0xE0]
    text = "\n".join(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF)
    hashed = sha256()
    for spec in specs:
        string = NormalizedString(text)
        normalizer(spec).normalize(string)
        hashed.update(string.normalized.encode())
    assert hashed.hexdigest() == unicode_tables.DIGEST
