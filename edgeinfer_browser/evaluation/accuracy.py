"""Task accuracy on labelled texts, beside what always saying the commonest label would reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest  # type: ignore[import-untyped]

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.evaluation.agreement import Outputs, vectors
from edgeinfer_browser.evaluation.packed_model import Head


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares, not per cent. ``half_width``: half of the 95 % Wilson interval (scipy.stats.binomtest)."""

    accuracy: float
    half_width: float
    texts: int
    #: Share of the commonest label among the texts: what a model has to beat.
    majority: float
    majority_label: str
    #: Texts that this variant has right and fp32 wrong, and the other way round.
    gained: int
    lost: int

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def head_of_labels(heads: Sequence[Head], labels: Sequence[str]) -> Head | None:
    """The single-label head that the texts' labels belong to; None when the model gives no labels at all.

    Raises:
        InputError: when no head has all of them, or more than one has; the message lists both sides.
    """
    given = sorted(set(labels))
    single = [head for head in heads if not head.multi_label]
    fitting = [head for head in single if set(given) <= set(head.labels)]
    if not single or len(fitting) == 1:
        return fitting[0] if fitting else None
    known = "; ".join(f"{head.output}: {', '.join(head.labels)}" for head in single)
    trouble = "fit more than one head of the model" if fitting else "are not the model's"
    raise InputError(
        f"The labels of the texts ({', '.join(given)}) {trouble} ({known}). "
        "Rename them in the file, or leave the column out to measure agreement alone.",
        given=given,
        known={head.output: list(head.labels) for head in single},
    )


def accuracy(reference: Outputs, outputs: Outputs, head: Head, labels: Sequence[str]) -> Accuracy:
    """How often the largest logit is the text's label.

    Args:
        reference: what fp32 answered to each text: output name -> array [1, labels].
        outputs: what the variant answered.
        head: the output and its labels.
        labels: the texts' labels, each one of the head's.
    """
    truth = np.array([head.labels.index(label) for label in labels])
    right = vectors(outputs, head.output).argmax(axis=1) == truth
    before = vectors(reference, head.output).argmax(axis=1) == truth
    correct, count = int(right.sum()), len(labels)
    interval = binomtest(correct, count).proportion_ci(0.95, method="wilson")
    commonest, times = Counter(labels).most_common(1)[0]
    return Accuracy(
        accuracy=correct / count,
        half_width=float(interval.high - interval.low) / 2,
        texts=count,
        majority=times / count,
        majority_label=commonest,
        gained=int((right & ~before).sum()),
        lost=int((before & ~right).sum()),
    )
