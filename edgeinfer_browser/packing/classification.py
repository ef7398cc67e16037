"""Classification: the graph gives logits, as many as there are labels; scores are made of them where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from edgeinfer_browser.errors import GraphError, ManifestError
from edgeinfer_browser.packing.task_output import LOGITS, SCORES, before_scores, logits_output, with_single_output
from edgeinfer_browser.packing.trials import Dims


def with_logits(
    model: onnx.ModelProto, dims: Mapping[str, Dims], name: str
) -> tuple[onnx.ModelProto, int, str | None, str]:
    """The model with the output ``logits`` float32 [batch_size, labels] alone.

    Returns:
        the model, the number of labels, the problem_type that a removed Softmax or Sigmoid tells of (or None), and a
        sentence on what was done.

    Raises:
        GraphError: when no output can be the logits.
    """
    output, width = logits_output(dims, name)
    scores = before_scores(model, output)
    tensor, note = output, "logits as the graph gave them"
    if scores:
        tensor, note = scores[0], f"a final {scores[1]} removed: the graph gives logits"
    made = with_single_output(model, tensor, LOGITS, ("batch_size", width))
    return made, width, SCORES[scores[1]] if scores else None, note


def labels_of(config: Mapping[str, Any], given: Sequence[str] | None, width: int, name: str) -> list[str]:
    """The labels in the order of the logits: those given, else config.json's id2label.

    Raises:
        ManifestError: when neither says them, or the ids have gaps.
        GraphError: when they are not as many as the logits.
    """
    where = "--labels" if given else "config.json (id2label)"
    labels = list(given or _labels(config, name))
    if len(labels) != width:
        raise GraphError(
            f"{name}: {where} names {len(labels)} labels ({', '.join(labels[:8])}); the graph gives {width} logits. "
            "Name one label for each logit, in their order, with --labels.",
            labels=labels,
            logits=width,
        )
    if len(set(labels)) != len(labels):
        raise ManifestError(f"{name}: {where} names a label twice: {', '.join(labels)}.", labels=labels)
    return labels


def _labels(config: Mapping[str, Any], name: str) -> list[str]:
    named = config.get("id2label")
    if not isinstance(named, dict) or not named:
        raise ManifestError(
            f"{name}: config.json has no id2label, so the labels are not known. Name them with --labels, in the order "
            "of the logits."
        )
    try:
        numbers = sorted(named, key=int)
    except ValueError as error:
        raise ManifestError(f"{name}: config.json's id2label has a key that is no number: {error}.") from error
    return [str(named[number]) for number in numbers]
