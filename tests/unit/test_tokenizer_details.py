"""The columns of an encoding that no model reads: computed when they are read, once, whatever happened before."""

from __future__ import annotations

import copy
import pickle

import pytest

from edgeinfer_browser.pipelines.base import text_feeds
from edgeinfer_browser.tokenizers import Encoding
from edgeinfer_browser.tokenizers.columns import Columns
from edgeinfer_browser.tokenizers.details import DetailColumns, Details
from tests.conformance.tokenizer_samples import columns
from tests.unit.test_tokenizer_behaviour import port

TEXT = "hello [MASK] sunshine \u2603 world"


def test_what_a_model_is_fed_computes_no_details(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Columns] = []
    compute = Columns._details

    def spied(columns: Columns) -> DetailColumns:
        computed.append(columns)
        return compute(columns)

    monkeypatch.setattr(Columns, "_details", spied)
    tokenizer = port()
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=6)
    for text in ("hello", TEXT):
        assert text_feeds(tokenizer, text, (), "tiny")["input_ids"].dims == (1, 6)
    assert computed == []
    encoding = tokenizer.encode(TEXT)
    assert encoding.tokens[1] == "hello"
    assert encoding.offsets[1] == (0, 5)
    assert len(computed) == 1


def test_details_are_computed_once() -> None:
    calls: list[int] = []

    def compute() -> DetailColumns:
        calls.append(1)
        return DetailColumns(["a"], [0], [(0, 1)], [0])

    encoding = Encoding([5], [0], [1], Details(compute))
    assert encoding.tokens is encoding.tokens
    assert (encoding.word_ids, encoding.offsets, encoding.special_tokens_mask) == ([0], [(0, 1)], [0])
    assert encoding.as_sequence(0, 1).tokens is encoding.tokens
    assert calls == [1]


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("processor", [True, False])
def test_padding_reaches_details_that_were_not_read(direction: str, processor: bool) -> None:
    tokenizer = port() if processor else port(post_processor=None)
    plain = tokenizer.encode(TEXT)
    missing = 12 - len(plain)
    tokenizer.enable_padding(direction, pad_id=0, length=12)
    padded = tokenizer.encode(TEXT)
    pads = slice(0, missing) if direction == "left" else slice(len(plain), None)
    assert [padded.tokens[pads], padded.word_ids[pads]] == [["[PAD]"] * missing, [None] * missing]
    assert [padded.offsets[pads], padded.special_tokens_mask[pads]] == [[(0, 0)] * missing, [1] * missing]
    for name in DetailColumns._fields:
        rest = [*getattr(padded, name)]
        del rest[pads]
        assert rest == getattr(plain, name)


def test_details_outlive_changes_of_the_other_columns() -> None:
    encoding, other = (port(post_processor=None).encode(TEXT) for _ in range(2))
    encoding.ids.clear()
    assert encoding.details == other.details


def test_equal_encodings_are_equal_in_their_details() -> None:
    tokenizer = port()
    assert tokenizer.encode("hello", "world") == tokenizer.encode("hello", "world")
    # The same ids, at another place.
    assert tokenizer.encode("hello") != tokenizer.encode(" hello")
    assert "tokens=['[CLS]', 'hello', '[SEP]']" in repr(tokenizer.encode("hello"))


def test_an_encoding_is_copied_and_pickled_with_its_details() -> None:
    encoding = port().encode(TEXT)
    for made in (pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding), copy.copy(encoding)):
        assert made == encoding
        assert columns(made) == columns(port().encode(TEXT))
