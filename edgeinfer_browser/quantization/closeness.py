"""One figure for how close a variant's answers are to fp32's, for outputs of any kind.

Embeddings (and hidden states, averaged over the tokens) are compared by cosine. Logits are not: two opposite logits
have a cosine of 1 or -1 whatever their size. For them, and so that one target fits both, ``1 - d^2 / (2 m)`` is used,
d being the distance to fp32's logits and m their mean square length: for vectors of one length, that is the cosine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeinfer_browser.evaluation.agreement import Floats, Outputs, cosines, labels, scores, vectors


@dataclass(frozen=True, slots=True)
class Closeness:
    """Over all texts, the output that came off worst; 1 is the same answer."""

    mean: float
    worst: float
    #: Logits only: share of texts with the same label, and the largest change of a score (softmax).
    same_label: float | None = None
    largest_score_change: float | None = None


def closeness(reference: Outputs, outputs: Outputs) -> Closeness:
    """Compare what a variant answered to each text with what fp32 did.

    Args:
        reference: fp32's answers: output name -> array [1, width] or [1, tokens, width].
        outputs: the variant's, in the same order.
    """
    found = [_of_output(vectors(reference, name), vectors(outputs, name), name) for name in reference[0]]
    same = [each.same_label for each in found if each.same_label is not None]
    changes = [each.largest_score_change for each in found if each.largest_score_change is not None]
    return Closeness(
        min(each.mean for each in found),
        min(each.worst for each in found),
        min(same, default=None),
        max(changes, default=None),
    )


def _of_output(truth: Floats, given: Floats, name: str) -> Closeness:
    usable = np.nan_to_num(given, nan=0.0, posinf=0.0, neginf=0.0)
    if not name.endswith("logits"):
        cosine = cosines(truth, usable)
        return Closeness(float(cosine.mean()), float(cosine.min()))
    squares = ((truth - usable) ** 2).sum(axis=1)
    close = 1 - squares / (2 * max(float((truth**2).sum(axis=1).mean()), np.finfo(np.float64).tiny))
    same = (labels(truth, False) == labels(usable, False)).all(axis=1)
    change = np.abs(scores(truth, False) - scores(usable, False)).max()
    return Closeness(float(close.mean()), float(close.min()), float(same.mean()), float(change))
