"""Fitting a head: what it learns, what is measured, and texts that do not suffice."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.head_file import Head
from edgeinfer_browser.packing.head_fit import DIGITS, PENALTIES, fit_head
from edgeinfer_browser.packing.labelled import LabelledTexts, read_labelled
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL

Floats = npt.NDArray[np.float32]
WIDTH = 6


def labelled(labels: list[Any], groups: list[str] | None = None) -> LabelledTexts:
    """Texts with these labels; a list of labels makes it a multi-label case."""
    multi_label = isinstance(labels[0], list)
    given = tuple(tuple(each) if multi_label else (each,) for each in labels)
    return LabelledTexts(tuple(map(str, range(len(labels)))), given, multi_label, tuple(groups) if groups else None)


def clouds(counts: dict[str, int], spread: float = 0.5) -> tuple[Floats, LabelledTexts]:
    """Points round one centre for each label, on features of very different scales; the last feature is dead."""
    random = np.random.default_rng(3)
    scale = np.array([100, 1, 1, 0.01, 1, 0])
    points = [
        (random.normal(size=WIDTH) * spread + np.roll(np.eye(WIDTH)[0], number) * 2) * scale
        for number, count in enumerate(counts.values())
        for _ in range(count)
    ]
    points = [*np.array(points, np.float32) + np.array([7, 0, 0, 0, -3, 1e-30], np.float32)]
    return np.array(points, np.float32), labelled([label for label, count in counts.items() for _ in range(count)])


def fit(features: Floats, data: LabelledTexts, **options: Any) -> Head:
    return fit_head(features, data, name="mood", kind="sentence_embedding", **options)


def predicted(head: Head, features: Floats) -> list[str]:
    return [head.labels[index] for index in (features @ head.weights.T + head.bias).argmax(axis=1)]


@pytest.mark.parametrize("labels", [("bad", "good"), ("anger", "fear", "joy")], ids=["two", "three"])
def test_a_head_learns_and_says_how_well(labels: tuple[str, ...]) -> None:
    features, data = clouds({label: 20 + 10 * number for number, label in enumerate(labels)})
    head = fit(features, data, encoder="0123")
    right = np.mean([(label,) == given for label, given in zip(predicted(head, features), data.labels, strict=True)])
    assert (head.labels, head.problem_type, head.encoder) == (labels, SINGLE_LABEL, "0123")
    assert right > 0.95
    assert head.accuracy["cross_validated"] > 0.9
    assert head.accuracy["majority"] == pytest.approx(max(map(len, data.labels)) and {2: 0.6, 3: 0.4444}[len(labels)])
    assert (head.accuracy["folds"], head.accuracy["texts"]) == (5, len(features))


def test_the_scores_are_scikit_learn_s_own() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    features, data = clouds({"a": 30, "b": 30, "c": 30}, spread=1.5)
    lines: list[str] = []
    head = fit(features, data, log=lines.append)
    best = max(lines, key=lambda line: float(line.split()[1]))
    scaled = StandardScaler().fit(features[:, :-1])
    model = LogisticRegression(C=float(best.split(":")[0].removeprefix("C=")), max_iter=2000)
    model.fit(scaled.transform(features[:, :-1]), [label for (label,) in data.labels])
    logits = features @ head.weights.T + head.bias
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores, model.predict_proba(scaled.transform(features[:, :-1])), atol=0.01)


def test_dead_features_have_no_weight_and_weights_are_short() -> None:
    features, data = clouds({"a": 20, "b": 20})
    head = fit(features, data)
    assert not head.weights[:, -1].any()
    assert all(len(Decimal(str(value)).normalize().as_tuple().digits) <= DIGITS + 1 for value in head.weights.ravel())
    np.testing.assert_allclose(head.weights[0], -head.weights[1])


def test_labels_without_meaning_are_no_better_than_the_majority() -> None:
    random = np.random.default_rng(5)
    features = random.normal(size=(200, WIDTH)).astype(np.float32)
    known = fit(features, labelled(["a", "b"] * 100)).accuracy
    assert known["cross_validated"] < known["majority"] + 0.1


def test_several_labels_a_text() -> None:
    random = np.random.default_rng(11)
    features = random.normal(size=(120, WIDTH)).astype(np.float32)
    names = ["left", "right"]
    labels = [[name for name, value in zip(names, row, strict=False) if value > 0] for row in features]
    head = fit(features, labelled(labels))
    logits = features @ head.weights.T + head.bias
    truth = np.array([[name in each for name in names] for each in labels])
    assert (head.labels, head.problem_type) == (("left", "right"), MULTI_LABEL)
    assert np.mean((logits > 0) == truth) > 0.95
    assert head.accuracy["cross_validated"] > head.accuracy["majority"] + 0.3


def test_a_group_is_never_in_two_folds() -> None:
    """Each document is its own point, and its label is chance: only by its document can a text be told."""
    random = np.random.default_rng(13)
    centres = random.normal(size=(40, WIDTH)) * 5
    truth = random.permutation(["a", "b"] * 20)
    features = np.repeat(centres, 5, axis=0) + random.normal(size=(200, WIDTH)) * 0.01
    features = np.hstack([features, np.repeat(np.eye(40) * 5, 5, axis=0)])
    labels = [str(label) for label in np.repeat(truth, 5)]
    groups = [f"document {number // 5}" for number in range(200)]
    points = features.astype(np.float32)
    alone, grouped = fit(points, labelled(labels)), fit(points, labelled(labels, groups))
    assert alone.accuracy["cross_validated"] > 0.95
    assert grouped.accuracy["cross_validated"] < 0.7


def test_penalties_are_tried_until_more_of_it_does_not_help() -> None:
    random = np.random.default_rng(2)
    features = random.normal(size=(60, 200)).astype(np.float32)
    features[:, 0] *= 3
    lines: list[str] = []
    fit(features, labelled(["a" if row[0] > 0 else "b" for row in features]), log=lines.append)
    means = [float(line.split()[1]) for line in lines]
    assert 3 <= len(means) <= len(PENALTIES)
    assert len(means) == len(PENALTIES) or max(means[-2:]) < max(means)


def test_the_same_texts_give_the_same_head() -> None:
    features, data = clouds({"a": 20, "b": 20}, spread=2)
    first, second = fit(features, data), fit(features, data)
    np.testing.assert_array_equal(first.weights, second.weights)
    assert first.accuracy == second.accuracy


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (["good"] * 20, "All 20 texts have the label 'good'"),
        ([[]] * 20, "No text has a label"),
        (["a", "b", "c"], "'a' has 1, 'b' has 1, 'c' has 1"),
        (["a"] * 20 + ["b"] * 4, "'b' has 4"),
        ([["a", "b", "c"], ["a", "b", "c"]], "2 texts are fewer than the 3 labels"),
    ],
)
def test_texts_that_do_not_suffice_are_refused_with_the_label(labels: list[Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        fit(np.zeros((len(labels), WIDTH), np.float32), labelled(labels))


def test_a_label_that_every_text_has_cannot_be_learnt() -> None:
    random = np.random.default_rng(1)
    labels = [["always", "often"] if number % 3 else ["always"] for number in range(30)]
    with pytest.raises(InputError, match="every text has the label 'always'"):
        fit(random.normal(size=(30, WIDTH)).astype(np.float32), labelled(labels))


def test_folds_and_groups_must_be_enough() -> None:
    features, data = clouds({"a": 20, "b": 20})
    with pytest.raises(InputError, match="2 folds or more"):
        fit(features, data, folds=1)
    two = labelled(["a", "b"] * 20, ["one", "other"] * 20)
    with pytest.raises(InputError, match="there are 2"):
        fit(features, two)
    only = labelled(["a"] * 20 + ["b"] * 20, [f"a{number % 9}" for number in range(20)] + ["b0"] * 20)
    with pytest.raises(InputError, match="no text has the label 'b'"):
        fit(features, only)


def write(tmp_path: Path, name: str, content: str) -> Path:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    return path


def test_csv_with_columns_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "texts.csv", 'review,stars,doc\n"Good,\nvery good",5,a\nBad,1,b\n')
    data = read_labelled(path, "review", "stars", "doc")
    assert data == LabelledTexts(("Good,\nvery good", "Bad"), (("5",), ("1",)), False, ("a", "b"))
    assert data.names == ("1", "5")


def test_jsonl_with_lists_of_labels(tmp_path: Path) -> None:
    rows = [{"text": "x", "label": ["a", "b", "a"]}, {"text": "y", "label": []}]
    data = read_labelled(write(tmp_path, "texts.jsonl", "\n".join(map(json.dumps, rows))))
    assert (data.labels, data.multi_label, data.groups) == ((("a", "b"), ()), True, None)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("texts.csv", "text,mood\nGood,happy\n", "line 2 has no label: nothing in 'label' .it has: text, mood."),
        ("texts.csv", "text,label\nGood,happy\nBad,\n", "line 3 has no label"),
        ("texts.csv", "review,label\nGood,happy\n", "line 2 has no text"),
        ("texts.txt", "Good\n", "no label"),
        ("texts.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label": ["x"]}', "line 2 .*a list, or none"),
        ("texts.jsonl", '{"text": "a", "label": "x"}\n[1]', "line 2 has no text"),
        ("texts.jsonl", '{"text": "a", "label": "x"}\n{', "line 2 is not JSON"),
        ("texts.csv", "", "no texts"),
        ("texts.csv", "text,label\n", "no texts"),
    ],
)
def test_a_row_that_lacks_something_is_named(tmp_path: Path, name: str, content: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        read_labelled(write(tmp_path, name, content))


def test_a_group_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2 has no group: nothing in 'doc'"):
        read_labelled(write(tmp_path, "texts.csv", "text,label\nGood,happy\n"), group="doc")
