"""Text classification: text -> labels with scores, by softmax or sigmoid as the model's ``problem_type`` says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

from edgeinfer_browser.backends import Feeds
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import InputError, ManifestError, ModelError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.pipelines.base import Pipeline, Runner, read_texts, text_feeds
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import TokenizerLike

#: ``{"label": str, "score": float}``, as Hugging Face's pipelines give it.
Label = dict[str, Any]

SINGLE_LABEL = "single_label_classification"
MULTI_LABEL = "multi_label_classification"


class TextClassificationPipeline(Pipeline):
    """``await pipe("I love it")`` gives the best label; a list of texts gives one list of labels each, in order."""

    task = "text-classification"

    def __init__(
        self, runner: Runner, manifest: ModelManifest, capabilities: Capabilities, tokenizer: TokenizerLike
    ) -> None:
        super().__init__(runner, manifest, capabilities, tokenizer.implementation)
        self._tokenizer = tokenizer
        if manifest.problem_type not in {SINGLE_LABEL, MULTI_LABEL}:
            raise ManifestError(
                f"Model {manifest.name!r} has problem_type {manifest.problem_type!r}; text classification knows "
                f"{SINGLE_LABEL} (softmax) and {MULTI_LABEL} (sigmoid)."
            )

    @overload
    async def __call__(self, inputs: str, *, top_k: int | None = 1) -> list[Label]: ...  # type: ignore[overload-overlap] # a str is a Sequence[str]
    @overload
    async def __call__(self, inputs: Sequence[str], *, top_k: int | None = 1) -> list[list[Label]]: ...
    async def __call__(self, inputs: str | Sequence[str], *, top_k: int | None = 1) -> list[Label] | list[list[Label]]:
        """Classify one text or several.

        Args:
            inputs: a text, or a list of texts. A text longer than the model takes is truncated; the special tokens
                are kept.
            top_k: how many labels each text gets, best first; None gives all.

        Raises:
            InputError: when ``inputs`` or ``top_k`` is something else.
            NoBackendError: when no tier gave an answer; the message lists every attempt.
        """
        if top_k is not None and (type(top_k) is not int or top_k < 1):
            raise InputError(f"top_k must be an integer of 1 or more, or None for all labels, not {top_k!r}.")
        texts = read_texts(inputs)
        if not texts:
            return []
        outputs = await self._run([self.feeds(text) for text in texts])
        results = [self._labels(output)[:top_k] for output in outputs]
        return results[0] if isinstance(inputs, str) else results

    def feeds(self, text: str) -> Feeds:
        """What the model is fed for a text: int64 tensors of dims [1, tokens], special tokens included."""
        return text_feeds(self._tokenizer, text, self._manifest.inputs, self._manifest.name)

    def _logits(self, outputs: dict[str, Tensor]) -> list[float]:
        rows = outputs["logits"].rows() if "logits" in outputs else []
        labels = len(self._manifest.labels)
        if len(rows) != 1 or (labels and len(rows[0]) != labels):
            shapes = ", ".join(f"{name} {list(tensor.dims)}" for name, tensor in outputs.items())
            raise ModelError(
                f"Model {self._manifest.name!r} is no classifier of {labels or 'some'} labels: one text should give "
                f"logits [1, {labels or 'n'}], it gave {shapes or 'nothing'}. Check that it is the model of the task."
            )
        return rows[0]

    def _labels(self, outputs: dict[str, Tensor]) -> list[Label]:
        logits = self._logits(outputs)
        scores = softmax(logits) if self._manifest.problem_type == SINGLE_LABEL else [sigmoid(x) for x in logits]
        names = self._manifest.labels or tuple(f"LABEL_{index}" for index in range(len(scores)))
        # A stable sort: labels of equal score keep the model's own order.
        ranked = sorted(zip(names, scores, strict=True), key=lambda pair: -pair[1])
        return [{"label": label, "score": score} for label, score in ranked]


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
