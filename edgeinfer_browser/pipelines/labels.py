"""Labels with scores: what a classifier's logits mean, by softmax or sigmoid as its ``problem_type`` says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgeinfer_browser.errors import InputError, ManifestError, ModelError, UnknownNameError
from edgeinfer_browser.manifest import HeadSpec, ModelManifest
from edgeinfer_browser.tensors import Tensor

#: ``{"label": str, "score": float}``, as Hugging Face's pipelines give it.
Label = dict[str, Any]

SINGLE_LABEL = "single_label_classification"
MULTI_LABEL = "multi_label_classification"


def find_head(manifest: ModelManifest, name: object) -> HeadSpec:
    """A head by its name; None is the first, or the plain classifier.

    Raises:
        UnknownNameError: for a head that the model does not have; the message lists those it has.
    """
    heads = heads_of(manifest)
    if name is None:
        return next(iter(heads.values()))
    if not isinstance(name, str) or name not in heads:
        known = [head.name for head in manifest.heads]
        raise UnknownNameError.of(f"head of model {manifest.name!r}", name, known or ["none: it is one classifier"])
    return heads[name]


def heads_of(manifest: ModelManifest) -> dict[str, HeadSpec]:
    """The model's heads by name, in its order; a plain classifier has one, without a name."""
    heads = manifest.heads or (HeadSpec("", "logits", manifest.labels, manifest.problem_type),)
    return {head.name: head for head in heads}


def require_problem_type(head: HeadSpec, model: str) -> None:
    """Refuse a head whose logits mean something else.

    Raises:
        ManifestError: naming the ``problem_type`` and the two that are known.
    """
    if head.problem_type not in {SINGLE_LABEL, MULTI_LABEL}:
        raise ManifestError(
            f"Model {model!r} has problem_type {head.problem_type!r}; text classification knows {SINGLE_LABEL} "
            f"(softmax) and {MULTI_LABEL} (sigmoid)."
        )


def check_top_k(top_k: object) -> None:
    """Refuse a ``top_k`` that is neither None nor an integer of 1 or more.

    Raises:
        InputError: with what was given.
    """
    if top_k is not None and (type(top_k) is not int or top_k < 1):
        raise InputError(f"top_k must be an integer of 1 or more, or None for all labels, not {top_k!r}.")


def ranked(outputs: Mapping[str, Tensor], head: HeadSpec, model: str) -> list[Label]:
    """Every label of one text with its score, best first. Labels of equal score keep the model's own order.

    Raises:
        ModelError: when the outputs lack the head's logits [1, labels].
    """
    logits = _logits(outputs, head, model)
    scores = softmax(logits) if head.problem_type == SINGLE_LABEL else [sigmoid(x) for x in logits]
    names = head.labels or tuple(f"LABEL_{index}" for index in range(len(scores)))
    best_first = sorted(zip(names, scores, strict=True), key=lambda pair: -pair[1])
    return [{"label": label, "score": score} for label, score in best_first]


def mean_top_score(results: Sequence[Sequence[Label]]) -> float | None:
    """The score of the best label, the mean over the texts; None for no text."""
    return sum(labels[0]["score"] for labels in results) / len(results) if results else None


def _logits(outputs: Mapping[str, Tensor], head: HeadSpec, model: str) -> list[float]:
    rows = outputs[head.output].rows() if head.output in outputs else []
    labels = len(head.labels)
    if len(rows) != 1 or (labels and len(rows[0]) != labels):
        shapes = ", ".join(f"{name} {list(tensor.dims)}" for name, tensor in outputs.items())
        raise ModelError(
            f"Model {model!r} is no classifier of {labels or 'some'} labels: one text should give {head.output} "
            f"[1, {labels or 'n'}], it gave {shapes or 'nothing'}. Check that it is the model of the task."
        )
    return rows[0]


def softmax(logits: Sequence[float]) -> list[float]:
    """exp(x) / sum(exp(x)), less the maximum first so that nothing overflows."""
    top = max(logits)
    powers = [math.exp(x - top) for x in logits]
    total = math.fsum(powers)
    return [power / total for power in powers]


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), by the branch that does not overflow."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    power = math.exp(x)
    return power / (1 + power)
