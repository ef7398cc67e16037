"""The head's file: what is written is read, and what is no head is refused by what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeinfer_browser.errors import InputError, OutputError
from edgeinfer_browser.packing.head_file import Head, head_json, read_head
from edgeinfer_browser.packing.head_training import write_head
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL

HEAD = Head(
    name="mood",
    labels=("schlecht", "schön"),
    problem_type=SINGLE_LABEL,
    features="sentence_embedding",
    weights=np.array([[0.1, -2.5, 0], [1e-3, 0.25, 7]], np.float32),
    bias=np.array([0.5, -0.125], np.float32),
    accuracy={"cross_validated": 0.9, "spread": 0.02, "majority": 0.5, "folds": 5, "texts": 60},
    encoder="0123456789abcdef",
)


def written(tmp_path: Path, **changes: Any) -> Path:
    """The file of :data:`HEAD`, changed; None takes a key out."""
    source = {**json.loads(head_json(HEAD)), **changes}
    path = tmp_path / "head.json"
    path.write_text(json.dumps({key: value for key, value in source.items() if value is not None}))
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    size = write_head(HEAD, tmp_path / "new" / "head.json")
    assert (tmp_path / "new/head.json").stat().st_size == size
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["head.json"]
    again = read_head(tmp_path / "new/head.json")
    assert again.weights.dtype == np.float32
    np.testing.assert_array_equal(again.weights, HEAD.weights)
    np.testing.assert_array_equal(again.bias, HEAD.bias)
    for name in ("name", "labels", "problem_type", "features", "accuracy", "encoder"):
        assert getattr(again, name) == getattr(HEAD, name)


def test_weights_are_written_as_they_were_rounded() -> None:
    assert "[0.1,-2.5,0.0],\n[0.001,0.25,7.0]" in head_json(HEAD)


def test_what_is_not_known_may_be_left_out(tmp_path: Path) -> None:
    head = read_head(written(tmp_path, accuracy=None, encoder=None))
    assert (head.accuracy, head.encoder) == ({}, "")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"format": 2}, "format 1"),
        ({"task": "regression"}, "text-classification"),
        ({"name": "my head"}, "name 'my head'"),
        ({"name": None}, "name"),
        ({"labels": None}, "labels"),
        ({"labels": "ab"}, "not a list"),
        ({"labels": ["only"], "weights": [[1.0]], "bias": [0]}, "1 labels"),
        ({"labels": ["a", "a"]}, "twice"),
        ({"labels": ["a", "b", "c"]}, "2 rows of weights for 3 labels"),
        ({"bias": [0.5]}, "1 biases for 2 labels"),
        ({"weights": [[1, 2], [3]]}, "not a usable head"),
        ({"weights": [["a"], ["b"]]}, "not a usable head"),
        ({"weights": [[1, 2, 3], [4, 5, 1e999]]}, "not finite"),
        ({"weights": []}, "weights"),
        ({"features": "last_layer"}, "features 'last_layer'"),
        ({"problem_type": "regression"}, "problem_type 'regression'"),
    ],
)
def test_what_is_no_head_is_refused_by_what_is_wrong(tmp_path: Path, changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word) as caught:
        read_head(written(tmp_path, **changes))
    assert "head.json" in str(caught.value)


def test_one_label_is_enough_where_it_may_be_absent(tmp_path: Path) -> None:
    changes = {"labels": ["spam"], "weights": [[1.0, 2.0]], "bias": [0.0], "problem_type": MULTI_LABEL}
    assert read_head(written(tmp_path, **changes)).labels == ("spam",)


@pytest.mark.parametrize("content", ["", "[]", "5", "{", '{"bias": -1.4, "weights": [[0.1]]}'])
def test_a_file_of_something_else_is_refused_by_its_path(tmp_path: Path, content: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"some\.json"):
        read_head(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json"):
        read_head(tmp_path / "none.json")


def test_a_place_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "head.json").mkdir()
    with pytest.raises(OutputError, match=r"head\.json"):
        write_head(HEAD, tmp_path / "head.json")
    assert [path.name for path in tmp_path.iterdir()] == ["head.json"]
