"""The Unigram model against the Rust library: random vocabularies and words, and what it refuses."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tokenizers import Tokenizer

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers.rust import RustTokenizer
from edgeinfer_browser.tokenizers.unigram import Unigram
from edgeinfer_browser.tokenizers.unigram_pieces import as_rust_reads

ALPHABETS = ("abc", "ab▁", "aé北😀", "abcd ", "a\u0301\x00𠀀")
SCORES = (-1.0, -2, -3, -0.5, -1.5, 0.0)


def unigram(vocab: Any, **options: Any) -> dict[str, Any]:
    return {"type": "Unigram", "vocab": vocab} | options


def rust_unigram(spec: dict[str, Any]) -> RustTokenizer:
    return RustTokenizer(json.dumps({"version": "1.0", "model": spec}).encode())


def random_vocab(source: random.Random, alphabet: str, byte_fallback: bool) -> list[list[Any]]:
    pieces = {"".join(source.choices(alphabet, k=source.randrange(1, 5))) for _ in range(source.randrange(1, 25))}
    vocab: list[list[Any]] = [
        ["<unk>", 0.0],
        *([piece, source.choice((*SCORES, source.uniform(-8, 0)))] for piece in sorted(pieces)),
    ]
    if byte_fallback:
        vocab += [[f"<0x{byte:02X}>", -5.5] for byte in range(256) if byte < 200 or source.random() < 0.9]
    return vocab


def answer(tokenize: Any, word: str) -> Any:
    """The ids, tokens and spans, or that there is no answer."""
    try:
        return tokenize(word)
    except InputError:
        return "refused"


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_random_vocabularies(alphabet: str, byte_fallback: bool) -> None:
    source = random.Random(f"{alphabet} {byte_fallback}")
    for _ in range(40):
        vocab = random_vocab(source, alphabet, byte_fallback)
        unk_id = source.choice([0, 0, 0, len(vocab) - 1, None])
        spec = unigram(vocab, unk_id=unk_id, byte_fallback=byte_fallback)
        rust, port = rust_unigram(spec), Unigram.from_spec(spec)

        def wanted(word: str, rust: RustTokenizer = rust) -> Any:
            encoding = rust.encode(word)
            return tuple(encoding.ids), tuple(encoding.tokens), tuple(encoding.offsets)

        for _ in range(25):
            word = "".join(source.choices(alphabet + source.choice(["", "x<unk>é"]), k=source.randrange(1, 30)))
            word += source.choice(["", "", "", "<unk>" + word[:3]])
            assert answer(port.tokenize, word) == answer(wanted, word), (word, spec)


def test_scores_are_read_as_the_rust_library_reads_them() -> None:
    source = random.Random(1)
    scores = [source.uniform(-20, 0) for _ in range(5_000)]
    scores += [source.uniform(-1, 1) * 10.0 ** source.randrange(-30, 20) for _ in range(5_000)]
    spec = unigram([[str(index), score] for index, score in enumerate(scores)], unk_id=0)
    rust = json.loads(Tokenizer.from_str(json.dumps({"version": "1.0", "model": spec})).to_str())
    assert [as_rust_reads(score) for score in scores] == [score for _, score in rust["model"]["vocab"]]


def test_of_equal_sums_the_longer_last_piece_stays() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["aa", -2.0], ["aaa", -3.0]]
    assert Unigram.from_spec(unigram(vocab, unk_id=0)).tokenize("aaaa")[1] == ("a", "aaa")


def test_unknown_pieces_become_one() -> None:
    port = Unigram.from_spec(unigram([["<unk>", 0.0], ["a", -1.0]], unk_id=0))
    assert port.tokenize("xyazé") == ((0, 1, 0), ("xy", "a", "zé"), ((0, 2), (2, 3), (3, 5)))


def test_without_an_unknown_token_an_unknown_character_is_refused() -> None:
    with pytest.raises(InputError, match="no unknown token"):
        Unigram.from_spec(unigram([["a", -1.0]])).tokenize("ab")


def test_a_long_word_takes_time_in_proportion() -> None:
    port = Unigram.from_spec(unigram([["<unk>", 0.0], ["a", -1.0], ["aa", -1.5]], unk_id=0))
    assert len(port.tokenize("a" * 200_000)[0]) == 100_000
    assert port.tokenize("😀" * 200_000)[2] == ((0, 200_000),)


BROKEN: dict[str, tuple[Any, str]] = {
    "an unknown option": (unigram([["a", 0.0]], alpha=1), "unknown option of Unigram: 'alpha'"),
    "no vocab": ({"type": "Unigram"}, "lacks 'vocab'"),
    "vocab": (unigram({"a": 0}), "should be list"),
    "an entry": (unigram([["a", 0.0], ["b"]]), r"vocab\[1\] = \['b'\]"),
    "a piece": (unigram([[1, 0.0]]), r"vocab\[0\] = \[1, 0.0\]"),
    "a list for a piece": (unigram([["a", 0.0], [["b"], 0.0]]), r"vocab\[1\] = \[\['b'\], 0.0\]"),
    "a text for an entry": (unigram([["a", 0.0], "bc"]), r"vocab\[1\] = 'bc'"),
    "a score": (unigram([["a", None]]), r"vocab\[0\] = \['a', None\]"),
    "no finite score": (unigram([["a", 0.0], ["b", float("inf")]]), "a score that is no finite number"),
    "no score at all": (unigram([["a", 0.0], ["b", float("nan")]]), "a score that is no finite number"),
    "too large a score": (unigram([["a", 0.0], ["b", 10**400]]), "a score that is no finite number"),
    "a piece twice": (unigram([["a", 0.0], ["a", 1.0]]), "the piece 'a' twice"),
    "unk_id": (unigram([["a", 0.0]], unk_id=1), "unk_id = 1, but 1 pieces"),
    "unk_id type": (unigram([["a", 0.0]], unk_id="a"), "unk_id = 'a'"),
    "byte_fallback": (unigram([["a", 0.0]], byte_fallback=None), "byte_fallback = None"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_refused_by_name(name: str) -> None:
    spec, message = BROKEN[name]
    with pytest.raises(TokenizerError, match=message):
        Unigram.from_spec(spec)
