"""Feature extraction: text -> embedding, a vector whose direction says what the text is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from edgeinfer_browser.backends import Feeds
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import EMBEDDING, TOKEN_VECTORS, ModelManifest
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.pipelines.embeddings import (
    POOLINGS,
    Pooling,
    PoolingName,
    find_embedding,
    normalized,
    pool,
    pooling_of,
    pools_in_graph,
    token_vectors,
    vector,
)
from edgeinfer_browser.pipelines.text import Read, TextPipeline
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import TokenizerLike

#: A vector; with ``pooling="none"`` one for each token.
Embedding = list[Any]


class FeatureExtractionPipeline(TextPipeline):
    """``await pipe("I love it")`` gives a list of floats; a list of texts gives a list of those, in order."""

    task = "feature-extraction"
    options = ("pooling", "normalize")

    def __init__(
        self,
        runner: Runner,
        manifest: ModelManifest,
        capabilities: Capabilities,
        tokenizer: TokenizerLike,
        *,
        pooling: Pooling | None = None,
    ) -> None:
        super().__init__(runner, manifest, capabilities, tokenizer)
        #: None: the graph pools.
        self._pooling = pooling
        if pooling is not None:
            self._notes = (str(pooling),)

    @classmethod
    def refusal(cls, manifest: ModelManifest) -> str:
        """A packed model must give embeddings, or what they are made of."""
        known = {EMBEDDING, TOKEN_VECTORS} & set(manifest.outputs)
        gives = bool(known) if manifest.outputs else manifest.task == cls.task
        if not manifest.packed or gives:
            return ""
        return (
            f"Model {manifest.name!r} is for {manifest.task!r} and gives no {EMBEDDING}. Pack its encoder with "
            f"--task {cls.task}; --head joins classifiers to it."
        )

    @classmethod
    async def settings(cls, folder: ModelFolder, manifest: ModelManifest, head: str | None) -> dict[str, Any]:
        """How to pool what a graph gives that does not pool.

        Raises:
            InputError: when a head was named: an embedding has none.
            ManifestError: when the folder asks for a pooling that is not known here.
        """
        if head is not None:
            raise InputError(f"head={head!r} is for text-classification; an embedding is the same for every head.")
        return {"pooling": None if pools_in_graph(manifest) else await pooling_of(folder, manifest)}

    @overload
    async def __call__(
        self, inputs: str, *, pooling: PoolingName | None = None, normalize: bool | None = None
    ) -> Embedding: ...
    @overload
    async def __call__(
        self, inputs: Sequence[str], *, pooling: PoolingName | None = None, normalize: bool | None = None
    ) -> list[Embedding]: ...
    async def __call__(
        self, inputs: str | Sequence[str], *, pooling: PoolingName | None = None, normalize: bool | None = None
    ) -> Embedding | list[Embedding]:
        """The embedding of one text or of several.

        Args:
            inputs: a text, or a list of texts. A text longer than the model takes is truncated; the special tokens
                are kept.
            pooling: ``mean``, ``cls`` or ``none`` (a vector for each token), for a model whose graph does not pool;
                None does what the folder says.
            normalize: bring vectors to length 1; None does what the folder, or the graph, says.

        Raises:
            InputError: when ``inputs`` is something else, or an option contradicts what is in the graph.
            NoBackendError: when no tier gave an answer; the message lists every attempt.
        """
        return await self._call(inputs, lambda: self._read_embedding(pooling, normalize))

    def _read_embedding(self, pooling: PoolingName | None, normalize: bool | None) -> Read[Embedding]:
        self._check(pooling, normalize)
        return lambda feeds, outputs: self._embedding(feeds, outputs, pooling, normalize)

    def _check(self, pooling: object, normalize: object) -> None:
        if pooling is not None and pooling not in POOLINGS:
            raise UnknownNameError.of("pooling", pooling, POOLINGS)
        if normalize is not None and not isinstance(normalize, bool):
            raise InputError(f"normalize must be True, False or None, not {normalize!r:.40}.")
        if self._pooling is None and (pooling is not None or normalize is False):
            given = f"pooling={pooling!r}" if pooling is not None else "normalize=False"
            raise InputError(
                f"Model {self._manifest.name!r} pools in its graph, which {given} cannot undo. Leave it out, or pack "
                "the model again with other --pooling."
            )

    def _embedding(
        self, feeds: Feeds, outputs: dict[str, Tensor], pooling: PoolingName | None, normalize: bool | None
    ) -> Embedding:
        ready = find_embedding(outputs) if pooling is None else None
        if ready is not None:
            return normalized(vector(ready)) if normalize else vector(ready)
        default = self._pooling or Pooling("mean", normalize=True)
        vectors = token_vectors(outputs, next(iter(feeds.values())).dims[1], self._manifest.name)
        name = pooling or default.name
        to_length_1 = normalized if (default.normalize if normalize is None else normalize) else list
        if name == "none":
            return [to_length_1(each) for each in vectors]
        return to_length_1(pool(vectors, name))
