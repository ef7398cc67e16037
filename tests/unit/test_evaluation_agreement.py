"""Agreement with fp32 and task accuracy, on answers whose figures can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.evaluation.accuracy import accuracy, head_of_labels
from edgeinfer_browser.evaluation.agreement import agreement, cosines, vectors
from edgeinfer_browser.evaluation.packed_model import Head

SENTIMENT = Head("logits", ("negative", "positive"), multi_label=False)
TOPIC = Head("topic_logits", ("news", "sport", "arts"), multi_label=False)


def answers(
    name: str, rows: Sequence[Sequence[float]] | npt.NDArray[np.float64]
) -> list[dict[str, npt.NDArray[np.float32]]]:
    return [{name: np.array([row], np.float32)} for row in np.asarray(rows)]


def test_the_same_answers_agree_wholly() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 16))
    same = agreement(answers("sentence_embedding", rows), answers("sentence_embedding", rows))
    assert same.texts == 30
    assert [same.mean_cosine, same.worst_cosine, same.same_nearest, same.spearman] == pytest.approx([1, 1, 1, 1])
    assert same.max_abs_difference == 0
    assert same.same_label is None


def test_mean_and_worst_cosine_and_which_text_is_worst() -> None:
    reference = answers("sentence_embedding", [[1, 0], [0, 1], [1, 0]])
    given = answers("sentence_embedding", [[2, 0], [1, 1], [0.6, 0.8]])
    found = agreement(reference, given)
    assert found.mean_cosine == pytest.approx((1 + np.sqrt(0.5) + 0.6) / 3)
    assert found.worst_cosine == pytest.approx(0.6)
    assert found.worst_text == 2
    assert found.max_abs_difference == pytest.approx(1.0)


def test_rank_agreement_sees_a_neighbour_that_changes() -> None:
    angles = np.radians([0, 10, 40, 90])
    moved = np.radians([0, 10, 60, 90])  # the third text's nearest was the second, and is now the fourth
    rows, others = (np.column_stack([np.cos(each), np.sin(each)]) for each in (angles, moved))
    found = agreement(answers("sentence_embedding", rows), answers("sentence_embedding", others))
    assert found.same_nearest == 0.75
    # Angles between pairs: 10, 40, 90, 30, 80, 50 and 10, 60, 90, 50, 80, 30; 1 - 6 * sum(d * d) / (n * (n * n - 1)).
    assert found.spearman == pytest.approx(1 - 6 * 6 / (6 * 35))


def test_labels_and_scores_of_logits() -> None:
    reference = answers("logits", [[0, 2], [1, 0], [0, 0.1]])
    given = answers("logits", [[0, 2], [1, 0], [0.1, 0]])
    found = agreement(reference, given)
    assert found.same_label == pytest.approx(2 / 3)
    one = 1 / (1 + np.exp(-0.1))
    assert found.largest_score_change == pytest.approx(2 * one - 1, abs=1e-6)
    assert found.spearman is None


def test_several_labels_a_text_are_compared_as_a_set() -> None:
    reference, given = answers("logits", [[3, 1, -1]]), answers("logits", [[3, -0.5, -1]])
    assert agreement(reference, given, multi_label=False).same_label == 1
    several = agreement(reference, given, multi_label=True)
    assert several.same_label == 0
    assert several.largest_score_change == pytest.approx(1 / (1 + np.exp(-1)) - 1 / (1 + np.exp(0.5)))


def test_an_answer_that_is_not_finite_counts_as_wrong() -> None:
    reference = answers("logits", [[0, 2], [1, 0]])
    found = agreement(reference, answers("logits", [[0, np.inf], [1, 0]]))
    assert (found.not_finite, found.same_label, found.largest_score_change) == (1, 0.5, 1.0)
    assert (found.worst_cosine, found.worst_text) == (0.0, 0)
    assert np.isfinite(found.max_abs_difference)


def test_outputs_of_every_token_are_averaged() -> None:
    tokens = [{"last_hidden_state": np.array([[[1.0, 0.0], [0.0, 1.0]]])}]
    assert vectors(tokens, "last_hidden_state") == pytest.approx(np.array([[0.5, 0.5]]))


def test_the_embedding_is_compared_unless_another_output_is_named() -> None:
    reference = [{"sentiment_logits": np.ones((1, 2)), "sentence_embedding": np.ones((1, 4))}]
    assert agreement(reference, reference).output == "sentence_embedding"
    assert agreement(reference, reference, "sentiment_logits").same_label == 1
    with pytest.raises(UnknownNameError, match="topic_logits"):
        agreement(reference, reference, "topic_logits")


def test_too_few_or_unequal_answers_are_refused() -> None:
    with pytest.raises(InputError, match="one answer at least"):
        agreement([], [])
    with pytest.raises(InputError, match="1 of 2"):
        agreement(answers("logits", [[0, 1], [1, 0]]), answers("logits", [[0, 1]]))


def test_a_reference_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InputError, match="text 1"):
        agreement(answers("logits", [[0, 1], [np.nan, 0]]), answers("logits", [[0, 1], [0, 1]]))


def test_zero_vectors_have_a_cosine() -> None:
    zero, one = np.zeros((1, 3)), np.ones((1, 3))
    assert cosines(zero, zero) == [1.0]
    assert cosines(zero, one) == [0.0]


def test_few_or_equal_texts_have_no_rank_agreement() -> None:
    assert (
        agreement(answers("sentence_embedding", np.eye(2)), answers("sentence_embedding", np.eye(2))).spearman is None
    )
    same = answers("sentence_embedding", np.ones((5, 3)))
    assert "spearman" not in agreement(same, same).to_json()


def test_accuracy_with_its_interval_and_the_majority_baseline() -> None:
    labels = ["positive"] * 6 + ["negative"] * 4
    fp32 = answers("logits", [[0, 1]] * 6 + [[1, 0]] * 3 + [[0, 1]])
    q8 = answers("logits", [[1, 0]] * 2 + [[0, 1]] * 4 + [[1, 0]] * 4)
    found = accuracy(fp32, q8, SENTIMENT, labels)
    assert (found.accuracy, found.texts) == (0.8, 10)
    assert (found.majority, found.majority_label) == (0.6, "positive")
    assert (found.gained, found.lost) == (1, 2)
    # Wilson's interval of 8 of 10 is 0.490 to 0.943.
    assert found.half_width == pytest.approx((0.9433 - 0.4902) / 2, abs=1e-3)


def test_labels_that_are_not_the_models_are_refused_with_both_lists() -> None:
    with pytest.raises(InputError, match=r"good.*are not the model's.*negative, positive") as caught:
        head_of_labels([SENTIMENT], ["good", "positive"])
    assert caught.value.details == {"given": ["good", "positive"], "known": {"logits": ["negative", "positive"]}}


def test_labels_find_their_head() -> None:
    assert head_of_labels([SENTIMENT, TOPIC], ["sport", "news"]) is TOPIC
    assert head_of_labels([], ["sport"]) is None
    with pytest.raises(InputError, match="more than one head"):
        head_of_labels([SENTIMENT, Head("mood_logits", ("negative", "positive"), multi_label=False)], ["positive"])
