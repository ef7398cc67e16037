"""The texts of golden samples: their lengths, for any limit that a model has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeinfer_browser.backends.golden import SHORT_TOKENS, proofs
from edgeinfer_browser.packing.samples import SHORT_TEXTS, Sample, text_samples
from edgeinfer_browser.tensors import Tensor
from tests import tiny_model


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer()))
    return tmp_path / "tokenizer.json"


def lengths(samples: list[Sample]) -> list[int]:
    return [sample.feeds["input_ids"].shape[1] for sample in samples]


@pytest.mark.parametrize("limit", [512, 128, 40, 33])
def test_one_has_a_little_over_32_tokens_and_one_is_as_long_as_the_model_takes(tokenizer: Path, limit: int) -> None:
    found = lengths(text_samples(tokenizer, ["input_ids"], limit))
    assert max(found) == found[-1] == limit
    assert min(found) == 2
    assert SHORT_TOKENS < min(length for length in found if length > SHORT_TOKENS) <= 2 * SHORT_TOKENS


@pytest.mark.parametrize("limit", [32, 9])
def test_a_model_of_short_texts_has_none_longer(tokenizer: Path, limit: int) -> None:
    found = lengths(text_samples(tokenizer, ["input_ids"], limit))
    assert len(found) == len(SHORT_TEXTS) + 1
    assert max(found) == limit


def test_more_than_512_tokens_are_not_kept(tokenizer: Path) -> None:
    assert 512 <= max(lengths(text_samples(tokenizer, ["input_ids"], 8192))) < 540


@pytest.mark.parametrize("limit", [512, 33])
def test_webgpu_is_proved_by_the_first_and_by_the_one_over_32(tokenizer: Path, limit: int) -> None:
    samples = text_samples(tokenizer, ["input_ids"], limit)
    feeds = [{name: Tensor.from_numpy(array) for name, array in sample.feeds.items()} for sample in samples]
    assert [samples[number].text for number in proofs("webgpu", feeds)] == [SHORT_TEXTS[0], samples[3].text]
    assert lengths(samples)[3] > SHORT_TOKENS
