"""Post-processors with pairs, truncation, padding and words, against the Rust library."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import Tokenizer
from tests.conformance.tokenizer_samples import columns
from tests.unit.tokenizer_oracle import BYTE_VOCAB, Spec, added, answer, both, encoded, spec, with_merges

PIECES = [" a", " ", "  ", "ab", "\n", "\u3000", "é", " x ", "l", "<s>", "\xa0", "😀"]
VOCAB = {token: key for key, token in enumerate([*BYTE_VOCAB, "<s>", "</s>", " x ", "<unk>", "  "])}
BYTES = with_merges(VOCAB, ["Ġ a", "Ġ Ġ", "a b", "Ġa b", "ab Ġ", "ĠĠ a", "Ċ Ċ", "ã Ģ", "Ģ Ģ"])
CHARS = {**with_merges(VOCAB, []), "merges": [[" ", " "]], "unk_token": "<unk>"}
ENDS = {"sep": ["</s>", VOCAB["</s>"]], "cls": ["<s>", VOCAB["<s>"]]}
SPECIALS = {
    "<s>": {"id": "<s>", "ids": [VOCAB["<s>"]], "tokens": ["<s>"]},
    "X": {"id": "X", "ids": [5, 6], "tokens": ["Ġy", "z"]},
}
REFUSED: dict[str, tuple[Spec, str]] = {
    "twice": ({"type": "Sequence", "processors": [{"type": "BertProcessing", **ENDS}] * 2}, "more than once"),
    "lacking": ({"type": "RobertaProcessing", **ENDS, "trim_offsets": True}, "lacks 'add_prefix_space'"),
    "special": ({"type": "BertProcessing", **ENDS, "sep": ["</s>"]}, "a token and its id"),
    "option": ({"type": "BertProcessing", **ENDS, "trim_offsets": True}, "unknown option of BertProcessing"),
    "inside": ({"type": "Sequence", "processors": [{"type": "X"}]}, "unknown post_processor: 'X'"),
}


class Random(random.Random):
    """Makes parts of a ``tokenizer.json``."""

    def flag(self) -> bool:
        return self.random() < 0.5

    def byte_level(self) -> Spec:
        flags = {name: self.flag() for name in ("add_prefix_space", "use_regex")}
        return {"type": "ByteLevel", "trim_offsets": self.random() < 0.7, **flags}

    def bert(self) -> Spec:
        return {"type": "BertProcessing", **ENDS}

    def roberta(self) -> Spec:
        return {"type": "RobertaProcessing", **ENDS, "trim_offsets": self.flag(), "add_prefix_space": self.flag()}

    def template(self) -> Spec:
        def sequence(name: str) -> Spec:
            return {"Sequence": {"id": name, "type_id": self.randrange(3)}}

        def some() -> list[Spec]:
            token = {"id": self.choice(("<s>", "X")), "type_id": self.randrange(3)}
            return [{"SpecialToken": token}] * self.randrange(2)

        first, second = self.sample("AB", 2)
        return {
            "type": "TemplateProcessing",
            "single": [*some(), sequence("A"), *some()],
            "pair": [*some(), sequence(first), *some(), sequence(second), *some()],
            "special_tokens": SPECIALS,
        }

    def sequence(self) -> Spec:
        parts = [self.choice((self.bert, self.roberta, self.template, self.byte_level))()]
        for _ in range(self.randrange(3)):
            parts.insert(self.randrange(len(parts) + 1), self.byte_level())
        return {"type": "Sequence", "processors": parts}

    def options(self) -> Spec:
        kinds = (self.byte_level, self.roberta, self.bert, self.template, self.sequence, self.sequence, lambda: None)
        found: Spec = {"post_processor": self.choice(kinds)(), "model": CHARS}
        if self.random() < 0.75:
            found |= {"pre_tokenizer": self.byte_level(), "model": BYTES}
        if self.flag():
            special = added("<s>", VOCAB["<s>"], lstrip=self.flag(), rstrip=self.flag(), special=True)
            found["added_tokens"] = [special, added(" x ", VOCAB[" x "])]
        if self.flag():
            found["truncation"] = {
                "direction": self.choice(("Left", "Right")),
                "max_length": self.randrange(14),
                "strategy": self.choice(("LongestFirst", "OnlyFirst", "OnlySecond")),
                "stride": self.randrange(3),
            }
        if self.flag():
            found["padding"] = {
                "strategy": self.choice(("BatchLongest", {"Fixed": self.randrange(12)})),
                "direction": self.choice(("Left", "Right")),
                "pad_to_multiple_of": self.choice((None, 4)),
                "pad_id": 1,
                "pad_type_id": 3,
                "pad_token": "P",
            }
        return found

    def text(self) -> str:
        return "".join(self.choices(PIECES, k=self.randrange(12)))

    def words(self) -> list[str]:
        return [self.text() for _ in range(self.randrange(4))]

    def question(self) -> dict[str, Any]:
        is_pretokenized = self.random() < 0.2
        make = self.words if is_pretokenized else self.text
        pair = make() if self.flag() else None
        return {"sequence": make(), "pair": pair, "is_pretokenized": is_pretokenized, "add_special_tokens": self.flag()}


@pytest.mark.parametrize("seed", range(200))
def test_random_processors(seed: int) -> None:
    source = Random(seed)
    rust, port = both(spec(**source.options()))
    for _ in range(15):
        question = source.question()
        assert encoded(port, **question) == encoded(rust, **question), ascii(question)
    batch = [(source.text(), source.text()) if source.flag() else source.text() for _ in range(4)]
    ours, theirs = (answer(tokenizer.encode_batch, batch) for tokenizer in (port, rust))
    assert (ours == "refused") == (theirs == "refused")
    assert ours == "refused" or [*map(columns, ours)] == [*map(columns, theirs)], ascii(batch)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    processor, message = REFUSED[name]
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_str(json.dumps(spec(post_processor=processor)))
