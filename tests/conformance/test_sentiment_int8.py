"""The sentiment model's int8 file, as it was packed: no less accurate than it was, nearly always float32's label."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sentiment_data import LABELS, load_split

from edgeinfer_browser.evaluation.packed_model import PackedModel
from edgeinfer_browser.evaluation.samples import require_unused
from edgeinfer_browser.evaluation.tiers import NativeSession
from edgeinfer_browser.quantization.recipe_file import read_recipe

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build/models/sentiment"
EVALUATION = load_split("evaluation")
#: What the first sentiment model of this project reached with plain int8.
LEAST_ACCURACY = 0.851
LEAST_SAME_LABEL = 0.98


@cache
def labels(dtype: str) -> np.ndarray:
    """The label of each of the 1,000 evaluation texts, by index; one text a run."""
    model = PackedModel.read(FOLDER)
    session = NativeSession(FOLDER / model.files(dtype)[0])
    answered = [session.run(feeds)["logits"][0] for feeds in model.feeds(text.text for text in EVALUATION)]
    return np.asarray(np.argmax(answered, axis=1))


def accuracy(dtype: str) -> float:
    return float(np.mean(labels(dtype) == [text.label for text in EVALUATION]))


def test_the_texts_are_a_thousand_that_nothing_was_chosen_on() -> None:
    model = PackedModel.read(FOLDER)
    assert len(EVALUATION) == 1000
    assert tuple(model.manifest.labels) == LABELS
    assert model.source["calibration"]["texts"] == 200
    require_unused([text.text for text in EVALUATION], model.source, None)


@pytest.mark.parametrize("dtype", ["fp32", "q8"])
def test_it_is_no_less_accurate_than_it_was(dtype: str) -> None:
    print(f"{dtype}: {accuracy(dtype):.1%}")
    assert accuracy(dtype) >= LEAST_ACCURACY


def test_int8_has_the_label_of_float32_almost_always() -> None:
    same = float(np.mean(labels("q8") == labels("fp32")))
    print(f"same label {same:.1%}")
    assert same >= LEAST_SAME_LABEL


def test_the_file_was_made_by_the_committed_recipe() -> None:
    recipe = read_recipe(ROOT / "models/sentiment/quantization.json")
    assert PackedModel.read(FOLDER).source["variants"]["q8"]["method"] == recipe.describe()
