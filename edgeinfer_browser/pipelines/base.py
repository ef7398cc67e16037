"""Pipeline: inputs -> feeds -> backend -> outputs -> results, and what is known of how it went (``info``)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeinfer_browser.backends import Attempt, Backend, Chain, Feeds
from edgeinfer_browser.bridge import Notice
from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import EdgeInferError, InputError, ManifestError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.telemetry import CallRecord, Outlet
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import TokenizerLike

#: The longest text that is taken, in characters: beyond it a tokenizer would block its thread for seconds.
MAX_CHARACTERS = 10_000_000


@dataclass(frozen=True, slots=True)
class LastCall:
    """How the last call went: which tier answered, with which dtype, and the milliseconds it took."""

    tier: str
    dtype: str | None
    latency_ms: float
    texts: int


@dataclass(frozen=True, slots=True)
class Info:
    """What a pipeline runs on: the tier and dtype in use, what became of the others, and the device."""

    tier: str | None
    dtype: str | None
    attempts: tuple[Attempt, ...]
    capabilities: Capabilities
    model: str
    revision: str
    #: Made by ``edgeinfer pack``: files are verified and tiers proved. False for a plain Hugging Face folder.
    packed: bool
    tokenizer: str
    last: LastCall | None
    #: What was given up to get the right answer all the same: no room to keep the model, say.
    notices: tuple[Notice, ...] = ()
    #: The model's heads by name; empty for one that has none.
    heads: tuple[str, ...] = ()
    #: What is done otherwise than one might think, and why.
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        last = self.last and {name: getattr(self.last, name) for name in LastCall.__slots__}
        return {
            "tier": self.tier,
            "dtype": self.dtype,
            "attempts": [attempt.to_json() for attempt in self.attempts],
            "capabilities": self.capabilities.to_json(),
            "model": self.model,
            "revision": self.revision,
            "packed": self.packed,
            "tokenizer": self.tokenizer,
            "last": last,
            "notices": [notice.to_json() for notice in self.notices],
            "heads": list(self.heads),
            "notes": list(self.notes),
        }


class Runner:
    """The chain a pipeline runs on; for ``while_loading="api"``, the API's until the local one is ready."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._loading: asyncio.Task[None] | None = None

    def replace_when_ready(self, load: Callable[[], Any]) -> None:
        """Load another chain in the background and run on it from then on; a failure leaves things as they are.

        Its reasons are added to the chain's attempts.
        """
        self._loading = asyncio.ensure_future(self._replace(load))

    async def _replace(self, load: Callable[[], Any]) -> None:
        try:
            chain = await load()
        except EdgeInferError as error:
            self.chain.attempts = [*self.chain.attempts, *_attempts_of(error)]
            return
        before, self.chain = self.chain, chain
        await before.close()

    async def settled(self) -> None:
        """Wait until nothing loads in the background any more."""
        if self._loading:
            await asyncio.wait([self._loading])

    async def close(self) -> None:
        """Stop loading and close."""
        if self._loading:
            self._loading.cancel()
        await self.chain.close()


class Pipeline:
    """What every task's pipeline is made of. Use :func:`edgeinfer_browser.pipeline` to make one."""

    task = ""

    def __init__(self, runner: Runner, manifest: ModelManifest, capabilities: Capabilities, tokenizer: str) -> None:
        self._runner = runner
        self._manifest = manifest
        self._capabilities = capabilities
        self._tokenizer_name = tokenizer
        self._last: LastCall | None = None
        #: The model folder's notices by kind, as they come.
        self.notices: Mapping[str, Notice] = {}
        #: Where each call's metric goes.
        self.metrics = Outlet()
        self._notes: tuple[str, ...] = ()

    @property
    def info(self) -> Info:
        """The tier and dtype in use, every attempt with its reason, the capabilities, and the last call."""
        current = self.backend
        return Info(
            tier=None if current is None else current.tier,
            dtype=None if current is None else current.dtype,
            attempts=tuple(self._runner.chain.attempts),
            capabilities=self._capabilities,
            model=self._manifest.name,
            revision=self._manifest.revision,
            packed=self._manifest.packed,
            tokenizer=self._tokenizer_name,
            last=self._last,
            notices=(*self.notices.values(), *self.metrics.notices),
            heads=tuple(head.name for head in self._manifest.heads),
            notes=(*self._manifest.not_guaranteed, *self._notes),
        )

    @property
    def backend(self) -> Backend | None:
        """The backend in use."""
        return self._runner.chain.current

    async def close(self) -> None:
        """Release the sessions and all they hold."""
        await self._runner.close()

    async def ready(self) -> None:
        """Wait for a local tier that loads in the background (``while_loading="api"``), if one does."""
        await self._runner.settled()

    async def _run(self, feeds: Sequence[Feeds], record: CallRecord) -> list[dict[str, Tensor]]:
        """Run each feed; a single one without the cost of a list."""
        started = time.perf_counter()
        chain = self._runner.chain
        if len(feeds) == 1:
            outputs = [await chain.run(feeds[0], record=record)]
        else:
            outputs = await chain.run_many(feeds, record=record)
        backend = chain.answered or chain.current
        if backend:
            milliseconds = (time.perf_counter() - started) * 1000
            self._last = LastCall(backend.tier, backend.dtype, milliseconds, len(feeds))
        return outputs

    def _leave_metric(self, record: CallRecord, error: BaseException | None = None) -> None:
        """Every call does, whether it ended in a result or in an error."""
        if self.metrics.open:
            self.metrics.put(record.metric(self._manifest.name, self._manifest.revision, self.task, error))


def _attempts_of(error: EdgeInferError) -> list[Attempt]:
    """What an error that ended a load says of each tier."""
    told = [Attempt(**fields) for fields in error.details.get("attempts", ())]
    return told or [Attempt("local", None, False, f"{type(error).__name__}: {error}")]


def read_texts(inputs: object) -> list[str]:
    """One text or a list of texts, as a list; lone surrogates become U+FFFD, as everywhere on the web.

    Raises:
        InputError: for anything else; the message says what was given and where.
    """
    if isinstance(inputs, str):
        return [_well_formed(inputs, "The text")]
    if not isinstance(inputs, list | tuple):
        raise InputError(f"A pipeline takes a str or a list of str, not {_describe(inputs)}.")
    for index, text in enumerate(inputs):
        if not isinstance(text, str):
            raise InputError(f"Item {index} of the list is {_describe(text)}, not a str.", index=index)
    return [_well_formed(text, f"Item {index}") for index, text in enumerate(inputs)]


def text_feeds(tokenizer: TokenizerLike, text: str, inputs: Sequence[str], model: str) -> dict[str, Tensor]:
    """What a model is fed for a text: int64 tensors of dims [1, tokens], special tokens included.

    Pipelines and the golden samples of ``edgeinfer pack`` are made by it alike. Without ``inputs`` all are given.

    Raises:
        ManifestError: when the model wants an input that a text does not give.
    """
    encoding = tokenizer.encode(text)
    given = {
        "input_ids": encoding.ids,
        "attention_mask": encoding.attention_mask,
        "token_type_ids": encoding.type_ids,
    }
    names = inputs or tuple(given)
    unknown = sorted(set(names) - set(given))
    if unknown:
        raise ManifestError(f"Model {model!r} wants the inputs {', '.join(unknown)}; a text gives {', '.join(given)}.")
    return {name: Tensor.from_values("int64", (1, len(encoding.ids)), given[name]) for name in names}


def _well_formed(text: str, name: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"{name} has {len(text)} characters; the most is {MAX_CHARACTERS}. Split it first.", characters=len(text)
        )
    if text.isascii():
        return text
    # A pair of surrogates is one character in UTF-16; a lone one is replaced, as TextEncoder does.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _describe(value: object) -> str:
    return "None" if value is None else f"{type(value).__name__} ({value!r:.40})"
