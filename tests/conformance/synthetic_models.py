"""Small models for synthetic tokenizers: made from the everyday sentences, the same on every run."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any

from tests.conformance.everyday import CODE, SENTENCES

Spec = dict[str, Any]
WORDS = [word for text in (*SENTENCES, *CODE) for word in re.findall(r"\w+|[^\w\s]", text)]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
#: Runs of one letter, where the order of merges shows.
_RUNS = [("a", "a"), ("aa", "a"), ("aa", "aa"), ("b", "aa"), ("aa", "b"), (".", "."), ("..", "..")]


def byte_characters() -> dict[int, str]:
    """GPT-2's table: printable Latin-1 stands for itself, the other bytes for the characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + at) for at, byte in enumerate(others)}


def merges(words: list[list[str]], count: int, prefix: str = "") -> list[tuple[str, str]]:
    """The ``count`` merges of byte-pair encoding that the words, lists of symbols, call for."""
    found: list[tuple[str, str]] = []
    counted = Counter(map(tuple, words))
    for _ in range(count):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in counted.items():
            pairs.update(dict.fromkeys(pairwise(word), times))
        # The most frequent, and of those the first in code point order.
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        found.append(best)
        counted = Counter({_merged(word, best, prefix): times for word, times in counted.items()})
    return found


def _merged(word: tuple[str, ...], pair: tuple[str, str], prefix: str) -> tuple[str, ...]:
    out: list[str] = []
    at = 0
    while at < len(word):
        is_pair = word[at : at + 2] == pair
        out.append(pair[0] + pair[1].removeprefix(prefix) if is_pair else word[at])
        at += 1 + is_pair
    return tuple(out)


def bpe(*, prefix: str = "", suffix: str = "", known: float = 1.0, as_pairs: bool = True, **options: Any) -> Spec:
    """A BPE model; ``known`` is the share of single characters that are in its vocabulary."""
    learnt, chars = _learnt(prefix, suffix)
    needed = {part for pair in learnt for part in pair}
    rng = random.Random(len(chars))
    kept = [char for char in chars if char in needed or rng.random() < known]
    made = [left + right.removeprefix(prefix) for left, right in learnt]
    tokens = ["<unk>", "<s>", "</s>", *kept, *made, *(BYTES if options.get("byte_fallback") else ())]
    vocab = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    model: Spec = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "fuse_unk": False, "byte_fallback": False}
    model |= {"continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None}
    return model | {"vocab": vocab, "merges": [*learnt] if as_pairs else [" ".join(pair) for pair in learnt]} | options


@cache
def _learnt(prefix: str, suffix: str) -> tuple[list[tuple[str, str]], list[str]]:
    words = [_symbols(word, prefix, suffix) for word in WORDS]
    chars = sorted({symbol for word in words for symbol in word} | set("ab. "))
    return merges(words, 200, prefix) + ([] if prefix or suffix else _RUNS), chars


def _symbols(word: str, prefix: str, suffix: str) -> list[str]:
    symbols = [word[0], *(prefix + char for char in word[1:])]
    return [*symbols[:-1], symbols[-1] + suffix]


@cache
def _learnt_of_bytes() -> list[tuple[str, str]]:
    table = byte_characters()
    return merges([[table[byte] for byte in text.encode()] for word in WORDS for text in (word, f" {word}")], 250)


def byte_level_bpe(**options: Any) -> Spec:
    """A BPE model over GPT-2's byte characters; it knows every byte."""
    learnt = _learnt_of_bytes()
    tokens = ["<unk>", "<s>", "</s>", *byte_characters().values(), *("".join(pair) for pair in learnt)]
    vocab = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    model: Spec = {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False}
    model |= {"continuing_subword_prefix": None, "end_of_word_suffix": None, "ignore_merges": False}
    return model | {"vocab": vocab, "merges": learnt} | options


def see_all() -> Spec:
    """A BPE model without merges: one token for each character it knows, or its bytes. It shows a text as it is."""
    chars = [chr(code) for code in (*range(0x20, 0x7F), 0x2581, 0xE9, 0x4E2D)]
    vocab = {token: index for index, token in enumerate(["<unk>", "<s>", "</s>", *chars, *BYTES])}
    options = {"fuse_unk": False, "byte_fallback": True, "unk_token": "<unk>", "dropout": None}
    return {"type": "BPE", "vocab": vocab, "merges": []} | options


def unigram(seed: int = 1, *, ties: bool = False, unk_id: int | None = 0, byte_fallback: bool = False) -> Spec:
    """A Unigram model of pieces of the words, most with ▁; with ``ties`` many scores are the same."""
    rng = random.Random(seed)
    pieces = {f"▁{word}"[start : start + size] for word in WORDS for start in (0, 1, 3) for size in (1, 2, 3, 5, 9)}
    some = sorted(piece for piece in pieces if piece and (len(piece) == 1 or rng.random() < 0.7))
    scores = [float(-rng.randrange(1, 4)) if ties else -12 * rng.random() for _ in some]
    special = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0], *([byte, 0.0] for byte in BYTES if byte_fallback)]
    vocab = [*special, *map(list, zip(some, scores, strict=True)), ["aa", -2.5], ["▁▁", -3.0], ["▁▁▁", -4.5]]
    unique = {token: [token, score] for token, score in reversed(vocab)}
    model: Spec = {"type": "Unigram", "unk_id": unk_id, "vocab": [*unique.values()][::-1]}
    return model | {"byte_fallback": byte_fallback}


def wordpiece(prefix: str = "##", longest: int = 100) -> Spec:
    """A WordPiece model of the words' beginnings and continuations."""
    starts = {word[:size] for word in WORDS for size in (1, 2, 4, 20)}
    rest = {prefix + word[start : start + size] for word in WORDS for start in (1, 2, 4) for size in (1, 3)} - {prefix}
    tokens = ["<unk>", "<s>", "</s>", *sorted(starts), *sorted(rest - starts)]
    model: Spec = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": prefix}
    return model | {"vocab": {token: at for at, token in enumerate(tokens)}, "max_input_chars_per_word": longest}


def word_level() -> Spec:
    """A WordLevel model of the words."""
    tokens = ["<unk>", "<s>", "</s>", *sorted({*WORDS} | {f"▁{word}" for word in WORDS[:200]})]
    return {"type": "WordLevel", "vocab": {token: at for at, token in enumerate(tokens)}, "unk_token": "<unk>"}
