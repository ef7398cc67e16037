"""One question put to two tokenizers: the same texts, options and way to ask, and everything they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.tokenizers import EncodingLike, TokenizerLike
from tests.conformance.samples import Samples
from tests.conformance.tokenizer_samples import columns

Options = dict[str, Any]
_SIDES = ("left", "right")


@dataclass(frozen=True)
class Question:
    """How to encode some texts; ``cut`` and ``fill`` are options of truncation and padding, None for off."""

    how: str
    texts: list[str]
    cut: Options | None = None
    fill: Options | None = None
    special: bool = True

    def ask(self, tokenizer: TokenizerLike) -> Any:
        """Every column, and what the ids read as; or that it refuses (the two word their refusals differently)."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if self.cut:
            tokenizer.enable_truncation(**self.cut)
        if self.fill:
            tokenizer.enable_padding(**self.fill)
        try:
            encodings = WAYS[self.how](tokenizer, self.texts, self.special)
        except InputError:
            return "refused"
        told = [columns(encoding) for encoding in encodings]
        try:
            return told, _read(tokenizer, encodings)
        except InputError:
            return told, "refused"


def digest(answer: Any) -> str:
    """A short stand-in for an answer, the same on every Python."""
    # Not repr(): what it escapes depends on the version of Unicode.
    return sha256(ascii(answer).encode()).hexdigest()[:16]


def _read(tokenizer: TokenizerLike, encodings: Sequence[EncodingLike]) -> Any:
    ids = [[*encoding.ids] for encoding in encodings]
    return tokenizer.decode_batch(ids), [tokenizer.decode(some, skip_special_tokens=False) for some in ids]


#: Ways to encode some texts, with or without special tokens.
WAYS: dict[str, Callable[[TokenizerLike, list[str], bool], Sequence[EncodingLike]]] = {
    "single": lambda one, texts, special: [one.encode(text, add_special_tokens=special) for text in texts],
    "pair": lambda one, texts, special: [one.encode(texts[0], texts[1], add_special_tokens=special)],
    "words": lambda one, texts, special: [one.encode(texts, None, True, special)],
    "word pairs": lambda one, texts, special: [one.encode(texts, texts[:2], True, special)],
    "batch": lambda one, texts, special: one.encode_batch(texts, add_special_tokens=special),
    "batch of pairs": lambda one, texts, special: one.encode_batch([(texts[0], texts[1]), *texts[2:]], False, special),
    "batch of words": lambda one, texts, special: one.encode_batch([texts, texts[:1]], True, special),
}


def questions(source: Samples, strings: int) -> Iterator[Question]:
    """Questions with so many texts in all: three of four texts alone and plain, the rest in every other way."""
    while strings > 0:
        question = _plain(source) if source.random.random() < 0.75 else _random(source)
        strings -= len(question.texts)
        yield question


def _plain(source: Samples) -> Question:
    return Question("single", [source.text()])


def _random(source: Samples) -> Question:
    rng = source.random
    how = rng.choice([*WAYS])
    texts = source.texts(rng.randrange(2, 5))
    cut = _cut(source) if rng.random() < 0.6 else None
    if cut and cut["max_length"] < 20:
        # Two long texts have very many pairs of short windows.
        texts = [text[:30] for text in texts]
    return Question(how, texts, cut, _fill(source) if rng.random() < 0.4 else None, rng.random() < 0.8)


def _cut(source: Samples) -> Options:
    rng = source.random
    max_length, stride = rng.choice(((0, 0), (3, 0), (6, 1), (9, 2), (17, 5), (40, 3), (200, 0)))
    strategy = rng.choice(("longest_first", "longest_first", "only_first", "only_second"))
    return {"max_length": max_length, "stride": stride, "strategy": strategy, "direction": rng.choice(_SIDES)}


def _fill(source: Samples) -> Options:
    rng = source.random
    options: Options = {"direction": rng.choice(_SIDES), "pad_id": rng.randrange(3), "pad_type_id": rng.randrange(2)}
    return options | {
        "pad_token": "P",
        "length": rng.choice((None, None, 12)),
        "pad_to_multiple_of": rng.choice((None, 8)),
    }


def differences(rust: TokenizerLike, port: TokenizerLike, asked: Sequence[Question]) -> list[Question]:
    """The questions that the two answer differently."""
    return [question for question in asked if question.ask(rust) != question.ask(port)]


def difference(rust: TokenizerLike, port: TokenizerLike, question: Question) -> str:
    """Where two answers begin to differ, in one line."""
    theirs, ours = question.ask(rust), question.ask(port)
    asked = f"{question.how} {question.texts!a} cut={question.cut} fill={question.fill} special={question.special}"
    if "refused" in (theirs, ours):
        return f"{asked}: Rust {ascii(theirs)[:200]}, here {ascii(ours)[:200]}"
    return f"{asked}: " + next(_unequal(theirs, ours, ""))


def _unequal(theirs: Any, ours: Any, place: str) -> Iterator[str]:
    if theirs == ours:
        return
    if isinstance(theirs, list | tuple) and isinstance(ours, list | tuple) and len(theirs) == len(ours):
        for index, pair in enumerate(zip(theirs, ours, strict=True)):
            yield from _unequal(*pair, f"{place}/{index}")
    yield f"at {place} Rust {ascii(theirs)[:300]}, here {ascii(ours)[:300]}"
