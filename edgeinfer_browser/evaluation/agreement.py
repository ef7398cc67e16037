"""How far a variant's answers are from the fp32 model's, on the same texts.

A text's vector is its row of the output (an output of every token is averaged over the tokens). Outputs whose name
ends in ``logits`` are read as labels and scores, all others as embeddings. An answer that is not finite counts as
cosine 0, another label and a score change of 1, and is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax  # type: ignore[import-untyped]
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import EMBEDDING

Floats = npt.NDArray[np.float64]
Outputs = Sequence[Mapping[str, npt.NDArray[Any]]]

#: Texts whose pairwise similarities are ranked: their number grows with its square.
RANKED_TEXTS = 1000


@dataclass(frozen=True, slots=True)
class Agreement:
    """One output of a variant against the same output of fp32. Shares and cosines, not per cent."""

    output: str
    texts: int
    mean_cosine: float
    worst_cosine: float
    #: Index of the text with the worst cosine.
    worst_text: int
    #: Largest absolute difference of any element.
    max_abs_difference: float
    #: Texts whose answer has a NaN or an infinity.
    not_finite: int
    #: Logits: share of texts with the same label (multi-label: the same set of labels).
    same_label: float | None = None
    #: Logits: largest change of any label's score (softmax; multi-label: sigmoid).
    largest_score_change: float | None = None
    #: Embeddings: share of texts with the same nearest neighbour among the others.
    same_nearest: float | None = None
    #: Embeddings: Spearman's rank correlation of all pairwise similarities (scipy.stats.spearmanr).
    spearman: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields that were measured."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def agreement(
    reference: Outputs, outputs: Outputs, output: str | None = None, *, multi_label: bool = False
) -> Agreement:
    """Compare a variant's outputs with fp32's.

    Args:
        reference: what fp32 answered to each text: output name -> array [1, width] or [1, tokens, width].
        outputs: what the variant answered, in the same order.
        output: the output to compare; the default is ``sentence_embedding``, else the first.
        multi_label: read logits as one sigmoid a label instead of one softmax.

    Raises:
        InputError: when there are no texts or not equally many on both sides, or fp32's own answer is not finite.
        UnknownNameError: when there is no such output.
    """
    if not reference or len(reference) != len(outputs):
        raise InputError(
            f"Agreement needs one answer at least, and as many as fp32 gave: {len(outputs)} of {len(reference)}."
        )
    name = output or (EMBEDDING if EMBEDDING in reference[0] else next(iter(reference[0])))
    truth, given = vectors(reference, name), vectors(outputs, name)
    _require_finite(truth)
    finite = np.asarray(np.isfinite(given).all(axis=1))
    usable = np.where(finite[:, None], given, 0.0)
    cosine = cosines(truth, usable)
    read = _labels if name.endswith("logits") else _neighbours
    return Agreement(
        output=name,
        texts=len(truth),
        mean_cosine=float(cosine.mean()),
        worst_cosine=float(cosine.min()),
        worst_text=int(cosine.argmin()),
        max_abs_difference=float(np.abs(truth - usable).max()),
        not_finite=int((~finite).sum()),
        **read(truth, usable, finite, multi_label),
    )


def _require_finite(truth: Floats) -> None:
    wrong = np.flatnonzero(~np.isfinite(truth).all(axis=1))
    if len(wrong):
        raise InputError(
            f"fp32 itself answers NaN or infinity to text {wrong[0]} ({len(wrong)} of {len(truth)} texts): there is "
            "nothing to compare with. Mend the model, or leave those texts out.",
            texts=[int(index) for index in wrong[:10]],
        )


def vectors(outputs: Outputs, name: str) -> Floats:
    """The output ``name`` of each text as a row: float64 [texts, width].

    Raises:
        UnknownNameError: when there is no such output.
    """
    if name not in outputs[0]:
        raise UnknownNameError.of("output", name, outputs[0])
    rows = [np.asarray(each[name], np.float64) for each in outputs]
    return np.stack([row.reshape(-1, row.shape[-1]).mean(axis=0) for row in rows])


def cosines(left: Floats, right: Floats) -> Floats:
    """Cosine of each pair of rows, [texts]; two zero rows are equal (1), one zero row has nothing in common (0)."""
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    products = (left * right).sum(axis=1)
    both_zero = ~left.any(axis=1) & ~right.any(axis=1)
    return np.where(lengths > 0, products / np.where(lengths > 0, lengths, 1.0), both_zero.astype(np.float64))


def scores(logits: Floats, multi_label: bool) -> Floats:
    """Scores of labels as the pipelines give them: softmax over the labels, or a sigmoid for each."""
    made: Floats = expit(logits) if multi_label else softmax(logits, axis=1)
    return made


def labels(logits: Floats, multi_label: bool) -> npt.NDArray[np.bool_]:
    """Which labels a text gets, [texts, labels]: the largest logit, or every positive one."""
    return logits > 0 if multi_label else np.arange(logits.shape[1]) == logits.argmax(axis=1)[:, None]


def _labels(truth: Floats, given: Floats, finite: npt.NDArray[np.bool_], multi_label: bool) -> dict[str, float]:
    same = (labels(truth, multi_label) == labels(given, multi_label)).all(axis=1) & finite
    changes = np.abs(scores(truth, multi_label) - scores(given, multi_label)).max(axis=1)
    return {"same_label": float(same.mean()), "largest_score_change": float(np.where(finite, changes, 1.0).max())}


def _neighbours(truth: Floats, given: Floats, _finite: npt.NDArray[np.bool_], _: bool) -> dict[str, float]:
    """Rank agreement of the first RANKED_TEXTS texts; nothing for fewer than three or where all are equally near."""
    count = min(len(truth), RANKED_TEXTS)
    before, after = similarities(truth[:count]), similarities(given[:count])
    pairs = np.triu_indices(count, 1)
    if count < 3 or not np.ptp(before[pairs]) or not np.ptp(after[pairs]):
        return {}
    nearest = [np.where(np.eye(count, dtype=bool), -np.inf, each).argmax(axis=1) for each in (before, after)]
    correlation = spearmanr(before[pairs], after[pairs]).statistic
    return {"same_nearest": float((nearest[0] == nearest[1]).mean()), "spearman": float(correlation)}


def similarities(rows: Floats) -> Floats:
    """Cosine of every row with every row, [texts, texts]; a zero row is similar to none."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(lengths > 0, lengths, 1.0)
    made: Floats = unit @ unit.T
    return made
