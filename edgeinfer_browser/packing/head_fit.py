"""Train a head: logistic regression on an encoder's features, its penalty chosen and its accuracy cross-validated.

Dead features are dropped (scaled up, they would make a model that any rounding of the encoder sends to infinity), the
standardisation is folded into the weights, and weights are rounded to what matters: the file stays a few kB.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.head_file import Features, Floats, Head
from edgeinfer_browser.packing.labelled import LabelledTexts
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL

#: Values of scikit-learn's ``C`` (the smaller, the simpler the head), tried from the first on.
PENALTIES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
#: Values in a row that may do worse than the best; after that, more complexity only overfits.
PATIENCE = 2
#: Variance below which a feature is dead: the living ones of a LayerNorm or a normalised embedding have 1e-5 and more.
DEAD_VARIANCE = 1e-6
#: Significant digits of the largest weight.
DIGITS = 3
SEED = 20140601

Labels = npt.NDArray[np.int64]
Log = Callable[[str], None]
Splits = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]


@dataclass(frozen=True, slots=True)
class Scores:
    """Cross-validated accuracy with one penalty: its mean over the folds, and its standard deviation."""

    penalty: float
    mean: float
    spread: float


def fit_head(
    features: Floats,
    data: LabelledTexts,
    *,
    name: str,
    kind: Features,
    encoder: str = "",
    folds: int = 5,
    log: Log = lambda _: None,
) -> Head:
    """Train on everything, with the penalty that did best in cross-validation.

    Args:
        features: float32 [texts, n], as ``kind`` says, in the order of the texts.
        data: the texts with their labels; with ``groups``, a group is never in two folds.
        name: the head's name.
        kind: what the features are.
        encoder: :func:`~edgeinfer_browser.packing.head_file.encoder_digest` of the model they are from.
        folds: parts of the cross-validation.
        log: takes a line for each penalty that is tried.

    Raises:
        InputError: when the texts do not suffice: one label only, or too few texts of one (says which).
    """
    require_enough(data, folds)
    labels = _label_matrix(data) if data.multi_label else _label_numbers(data)
    splits = _splits(features, labels, data, folds)
    best = _choose_penalty(features, labels, splits, log)
    model = _classifier(best.penalty, data.multi_label).fit(features, labels)
    weights, bias = _linear(model, features.shape[1], data.multi_label)
    accuracy = {
        "cross_validated": round(best.mean, 4),
        "spread": round(best.spread, 4),
        "majority": round(_majority(labels), 4),
        "folds": folds,
        "texts": len(data.texts),
    }
    problem_type = MULTI_LABEL if data.multi_label else SINGLE_LABEL
    return Head(name, data.names, problem_type, kind, weights, bias, accuracy, encoder)


def require_enough(data: LabelledTexts, folds: int) -> None:
    """Refuse texts that no head can be trained on, before the encoder reads them.

    Raises:
        InputError: naming the label that has too few texts.
    """
    if folds < 2:
        raise InputError(f"Cross-validation needs 2 folds or more, not {folds}.", folds=folds)
    counts = Counter(label for labels in data.labels for label in labels)
    if len(counts) < 2 and not (data.multi_label and counts):
        only = f"All {len(data.texts)} texts have the label {next(iter(counts))!r}" if counts else "No text has a label"
        raise InputError(f"{only}: there is nothing to tell apart. Add texts of another label.", labels=dict(counts))
    if len(data.texts) < len(counts):
        raise InputError(f"{len(data.texts)} texts are fewer than the {len(counts)} labels.", labels=dict(counts))
    few = sorted((count, label) for label, count in counts.items() if count < folds)
    if few:
        which = ", ".join(f"{label!r} has {count}" for count, label in few[:10])
        raise InputError(
            f"{folds} folds need at least {folds} texts of each label: {which}. Add texts, drop the label, or give "
            "fewer --folds.",
            labels=dict(counts),
            folds=folds,
        )


def _label_numbers(data: LabelledTexts) -> Labels:
    number = {label: index for index, label in enumerate(data.names)}
    return np.array([number[labels[0]] for labels in data.labels], np.int64)


def _label_matrix(data: LabelledTexts) -> Labels:
    """0 and 1, int64 [texts, labels]."""
    return np.array([[label in labels for label in data.names] for labels in data.labels], np.int64)


def _splits(features: Floats, labels: Labels, data: LabelledTexts, folds: int) -> Splits:
    """Folds with the labels' shares alike, where scikit-learn can (not with several labels a text)."""
    grouped, single = data.groups is not None, not data.multi_label
    makers = {
        (True, True): StratifiedGroupKFold,
        (True, False): GroupKFold,
        (False, True): StratifiedKFold,
        (False, False): KFold,
    }
    if data.groups is not None and len(set(data.groups)) < folds:
        raise InputError(f"{folds} folds need at least {folds} groups; there are {len(set(data.groups))}.", folds=folds)
    maker = makers[grouped, single](folds, shuffle=True, random_state=SEED)
    splits: Splits = list(maker.split(features, labels, data.groups))
    for train, _ in splits:
        _require_all_labels(labels[train], data)
    return splits


def _require_all_labels(labels: Labels, data: LabelledTexts) -> None:
    """What is trained on must have every label, and in the multi-label case texts without it too."""
    columns = labels if data.multi_label else labels[:, None] == np.arange(len(data.names))
    for name, column in zip(data.names, np.asarray(columns, bool).T, strict=True):
        if not column.any() or (data.multi_label and column.all()):
            which = "every text" if column.all() else "no text"
            raise InputError(
                f"Without one of the folds, {which} has the label {name!r}: the others cannot tell it. Add texts of it "
                "(from other groups), drop it, or give more --folds.",
                label=name,
            )


def _choose_penalty(features: Floats, labels: Labels, splits: Splits, log: Log) -> Scores:
    tried: list[Scores] = []
    for penalty in PENALTIES:
        estimator = _classifier(penalty, labels.ndim == 2)
        scores = cross_val_score(estimator, features, labels, cv=splits, scoring=make_scorer(_share_right))
        tried.append(Scores(penalty, float(scores.mean()), float(scores.std())))
        log(f"C={penalty:g}: {tried[-1].mean:.4f} +- {tried[-1].spread:.4f} in cross-validation")
        best = max(tried, key=lambda each: each.mean)  # of equals the first, which is the simplest
        if len(tried) > PATIENCE and all(each.mean < best.mean for each in tried[-PATIENCE:]):
            break
    return best


def _share_right(labels: Labels, predicted: Labels) -> float:
    """Accuracy; with several labels a text, over all of them."""
    return float(np.mean(labels == predicted))


def _majority(labels: Labels) -> float:
    """The accuracy of always giving the same answer, the most frequent one."""
    if labels.ndim == 2:
        shares = labels.mean(axis=0)
        return float(np.maximum(shares, 1 - shares).mean())
    return float(np.bincount(labels).max() / len(labels))


def _classifier(penalty: float, multi_label: bool) -> Pipeline:
    regression: Any = LogisticRegression(C=penalty, max_iter=2000)
    return make_pipeline(
        VarianceThreshold(DEAD_VARIANCE),
        StandardScaler(),
        OneVsRestClassifier(regression) if multi_label else regression,
    )


def _linear(model: Pipeline, width: int, multi_label: bool) -> tuple[Floats, Floats]:
    """Weights [labels, width] for features as they come, and the bias [labels], rounded."""
    alive, scaler, last = model[0].get_support(), model[1], model[2]
    parts: Sequence[Any] = last.estimators_ if multi_label else [last]
    slopes = np.concatenate([part.coef_ for part in parts])
    intercepts = np.concatenate([part.intercept_ for part in parts])
    if len(slopes) == 1 and not multi_label:
        # Two logits, -z/2 and z/2: their softmax is the sigmoid of z.
        halves = np.array([[-0.5], [0.5]])
        slopes, intercepts = halves * slopes, halves[:, 0] * intercepts
    weights = np.zeros((len(slopes), width))
    weights[:, alive] = _rounded(slopes, scaler.scale_)
    bias = intercepts - weights[:, alive] @ scaler.mean_
    return weights.astype(np.float32), np.round(bias, 4).astype(np.float32)


def _rounded(slopes: npt.NDArray[np.float64], scale: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """``slopes / scale`` with no more decimals than matter: a feature of large values needs more than one of small.

    On standardised features the largest slope keeps :data:`DIGITS` significant digits, the others as many decimals.
    """
    largest = float(np.abs(slopes).max()) or 1.0
    decimals = DIGITS - 1 - math.floor(math.log10(largest)) + np.ceil(np.log10(scale))
    steps = 10.0**decimals
    return np.asarray(np.round(slopes / scale * steps) / steps)
