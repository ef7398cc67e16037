"""Text classification: text -> labels with scores, by the head that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.pipelines.labels import (
    Label,
    check_top_k,
    find_head,
    heads_of,
    mean_top_score,
    ranked,
    require_problem_type,
)
from edgeinfer_browser.pipelines.text import Read, TextPipeline
from edgeinfer_browser.tokenizers import TokenizerLike


class TextClassificationPipeline(TextPipeline):
    """``await pipe("I love it")`` gives the best label; a list of texts gives one list of labels each, in order."""

    task = "text-classification"
    options = ("top_k", "head")

    def __init__(
        self,
        runner: Runner,
        manifest: ModelManifest,
        capabilities: Capabilities,
        tokenizer: TokenizerLike,
        *,
        head: str | None = None,
    ) -> None:
        super().__init__(runner, manifest, capabilities, tokenizer)
        for each in heads_of(manifest).values():
            require_problem_type(each, manifest.name)
        self._head = find_head(manifest, head)

    @classmethod
    def refusal(cls, manifest: ModelManifest) -> str:
        """A packed model must have a head, or be a classifier itself."""
        if not manifest.packed or manifest.heads or "logits" in manifest.outputs or manifest.task == cls.task:
            return ""
        return (
            f"Model {manifest.name!r} is for {manifest.task!r} and has no head. Join one: edgeinfer pack --head FILE."
        )

    @classmethod
    async def settings(cls, folder: ModelFolder, manifest: ModelManifest, head: str | None) -> dict[str, Any]:
        """The head that calls use when they name none.

        Raises:
            UnknownNameError: for a head that the model does not have.
        """
        find_head(manifest, head)
        return {"head": head}

    @overload
    async def __call__(self, inputs: str, *, top_k: int | None = 1, head: str | None = None) -> list[Label]: ...  # type: ignore[overload-overlap] # a str is a Sequence[str]
    @overload
    async def __call__(
        self, inputs: Sequence[str], *, top_k: int | None = 1, head: str | None = None
    ) -> list[list[Label]]: ...
    async def __call__(
        self, inputs: str | Sequence[str], *, top_k: int | None = 1, head: str | None = None
    ) -> list[Label] | list[list[Label]]:
        """Classify one text or several.

        Args:
            inputs: a text, or a list of texts. A text longer than the model takes is truncated; the special tokens
                are kept.
            top_k: how many labels each text gets, best first; None gives all.
            head: the head to ask, of a model that has several; None asks the one that the pipeline was made with.

        Raises:
            UnknownNameError: for a head that the model does not have.
            InputError: when ``inputs`` or ``top_k`` is something else.
            NoBackendError: when no tier gave an answer; the message lists every attempt.
        """
        return await self._call(inputs, lambda: self._read_labels(top_k, head), mean_top_score)

    def _read_labels(self, top_k: int | None, head: str | None) -> Read[list[Label]]:
        check_top_k(top_k)
        chosen = self._head if head is None else find_head(self._manifest, head)
        return lambda _, outputs: ranked(outputs, chosen, self._manifest.name)[:top_k]
