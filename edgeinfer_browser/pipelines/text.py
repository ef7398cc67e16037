"""TextPipeline: what the pipelines of texts share: tokens, one run for each text, and all heads of it at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, overload

from edgeinfer_browser.backends import Feeds
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import InputError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.pipelines.base import Pipeline, Runner, read_texts, text_feeds
from edgeinfer_browser.pipelines.embeddings import find_embedding, vector
from edgeinfer_browser.pipelines.labels import check_top_k, heads_of, ranked
from edgeinfer_browser.telemetry import CallRecord
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import TokenizerLike

#: ``{"embedding": [float] | None, "heads": {name: [{"label", "score"}]}}``
AllHeads = dict[str, Any]

T = TypeVar("T")

#: Makes a result of one text's feeds and outputs.
Read = Callable[[Feeds, dict[str, Tensor]], T]


class TextPipeline(Pipeline):
    """A pipeline that takes a text or several. ``options`` are the names that a call may be given beside them."""

    options: tuple[str, ...] = ()

    def __init__(
        self, runner: Runner, manifest: ModelManifest, capabilities: Capabilities, tokenizer: TokenizerLike
    ) -> None:
        super().__init__(runner, manifest, capabilities, tokenizer.implementation)
        self._tokenizer = tokenizer

    @classmethod
    def refusal(cls, manifest: ModelManifest) -> str:
        """Why this task cannot be done with a model; "" when it can."""
        raise NotImplementedError

    @classmethod
    async def settings(cls, folder: ModelFolder, manifest: ModelManifest, head: str | None) -> dict[str, Any]:
        """What the constructor takes beside what all take: read, and refused, before any model file is fetched."""
        raise NotImplementedError

    def __call__(self, *inputs: Any, **options: Any) -> Awaitable[Any]:
        """What the task makes of one text or several."""
        raise NotImplementedError

    def feeds(self, text: str) -> Feeds:
        """What the model is fed for a text: int64 tensors of dims [1, tokens], special tokens included."""
        return text_feeds(self._tokenizer, text, self._manifest.inputs, self._manifest.name)

    @overload
    async def all_heads(self, inputs: str, *, top_k: int | None = None) -> AllHeads: ...  # type: ignore[overload-overlap] # a str is a Sequence[str]
    @overload
    async def all_heads(self, inputs: Sequence[str], *, top_k: int | None = None) -> list[AllHeads]: ...
    async def all_heads(self, inputs: str | Sequence[str], *, top_k: int | None = None) -> AllHeads | list[AllHeads]:
        """What every head says of a text, and its embedding, from one run.

        Args:
            inputs: a text, or a list of texts.
            top_k: how many labels each head gives, best first; None gives all.

        Returns:
            ``{"embedding": [float], "heads": {name: [{"label", "score"}]}}``, or a list of those. ``embedding`` is None
            where the graph has no output for it: a classifier that was packed with a single head.

        Raises:
            InputError: when the model has no heads, or ``inputs`` or ``top_k`` is something else.
            NoBackendError: when no tier gave an answer; the message lists every attempt.
        """
        return await self._call(inputs, lambda: self._read_heads(top_k))

    def _read_heads(self, top_k: int | None) -> Read[AllHeads]:
        check_top_k(top_k)
        if not self._manifest.heads:
            raise InputError(f"Model {self._manifest.name!r} has no heads. Join some: edgeinfer pack --head head.json.")
        return lambda _, outputs: self._all_heads(outputs, top_k)

    def _all_heads(self, outputs: dict[str, Tensor], top_k: int | None) -> AllHeads:
        embedding = find_embedding(outputs)
        heads = heads_of(self._manifest)
        return {
            "embedding": None if embedding is None else vector(embedding),
            "heads": {name: ranked(outputs, head, self._manifest.name)[:top_k] for name, head in heads.items()},
        }

    async def _call(
        self,
        inputs: str | Sequence[str],
        options: Callable[[], Read[T]],
        confidence: Callable[[Sequence[T]], float | None] = lambda _: None,
    ) -> T | list[T]:
        """One call from texts to results, which leaves one metric however it ends.

        Args:
            inputs: a text, or a list of texts.
            options: checks what else was given, and says how a text's outputs are to be read.
            confidence: how sure the results are, for the metric.
        """
        record = CallRecord()
        try:
            results = await self._results(read_texts(inputs), options(), record)
        except BaseException as error:  # cancelled calls too
            self._leave_metric(record, error)
            raise
        if self.metrics.open:
            record.confidence = confidence(results)
            self._leave_metric(record)
        return results[0] if isinstance(inputs, str) else results

    async def _results(self, texts: Sequence[str], read: Read[T], record: CallRecord) -> list[T]:
        record.items = len(texts)
        feeds = [self.feeds(text) for text in texts]
        record.tokenised(sum(_tokens(each) for each in feeds))
        outputs = await self._run(feeds, record) if feeds else []
        return [read(*each) for each in zip(feeds, outputs, strict=True)]


def _tokens(feeds: Feeds) -> int:
    """Tokens of a text's feeds, each of dims [1, tokens]."""
    return next(iter(feeds.values())).dims[1]
