"""Batches: what goes in comes out, in order, whatever else is in the batch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeinfer_browser.backends.batching import BATCH_SIZE, merge, plan, split
from edgeinfer_browser.tensors import Tensor
from tests.unit.fakes import feeds

TEXTS = st.lists(st.lists(st.integers(1, 2**40), min_size=1, max_size=40), min_size=1, max_size=50)


@given(TEXTS)
def test_a_plan_has_each_index_once_in_groups_of_like_length(texts: list[list[int]]) -> None:
    groups = plan([feeds(*text) for text in texts])
    flat = [index for group in groups for index in group]
    assert sorted(flat) == list(range(len(texts)))
    assert all(1 <= len(group) <= BATCH_SIZE for group in groups)
    lengths = [len(texts[index]) for index in flat]
    assert lengths == sorted(lengths)


def test_no_texts_are_no_batches() -> None:
    assert plan([]) == []


@given(TEXTS)
def test_split_gives_back_what_merge_put_together_and_zeros(texts: list[list[int]]) -> None:
    given_feeds = [feeds(*text) for text in texts]
    merged = merge(given_feeds)
    width = max(map(len, texts))
    assert all(tensor.dims == (len(texts), width) for tensor in merged.values())
    for text, back in zip(texts, split(merged), strict=True):
        padding = [0] * (width - len(text))
        assert back["input_ids"].rows() == [text + padding]
        assert back["attention_mask"].rows() == [[1] * len(text) + padding]


@given(st.integers(1, 5), st.lists(st.integers(0, 3), max_size=3))
def test_split_keeps_the_other_axes(batch: int, rest: list[int]) -> None:
    size = 1
    for dim in rest:
        size *= dim
    values = [float(number) for number in range(batch * size)]
    rows = split({"out": Tensor.from_values("float32", [batch, *rest], values)})
    assert [row["out"].dims for row in rows] == [(1, *rest)] * batch
    assert [value for row in rows for value in row["out"].values()] == values
