"""Every call leaves one metric, however it ends, and no text is in it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from edgeinfer_browser import pipeline
from edgeinfer_browser.backends import Chain, FakeBackend
from edgeinfer_browser.backends.base import Feeds
from edgeinfer_browser.errors import InputError, NoBackendError, RemoteError, RunError, SessionError, UnknownNameError
from edgeinfer_browser.manifest import HeadSpec
from edgeinfer_browser.pipelines import FeatureExtractionPipeline, TextClassificationPipeline, TextPipeline
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.pipelines.labels import SINGLE_LABEL, sigmoid
from edgeinfer_browser.policy import Choice
from edgeinfer_browser.telemetry import Fallback, InferenceMetric, Latency, Outlet, RingBuffer
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.tokenizers import load_tokenizer
from tests.unit.fakes import API, BASE, TOKENIZER, FakeBridge, count_good, device, facts, manifest_json, model

SHAPE = json.loads((Path(__file__).parents[1] / "metric_shape.json").read_text("utf-8"))
NO_GPU = facts(gpu={"present": False})


async def measured(bridge: FakeBridge, **options: Any) -> tuple[TextClassificationPipeline, RingBuffer]:
    """A classifier on a fake browser, and the metrics of its calls."""
    kept = RingBuffer()
    wanted = {"model": BASE, "bridge": bridge, "on_metric": kept, **options}
    return await pipeline("text-classification", **wanted), kept


def only(kept: RingBuffer) -> InferenceMetric:
    """The one metric that there is."""
    (metric,) = kept
    return metric


def parts(metric: InferenceMetric) -> float:
    """Milliseconds of all parts of a call."""
    told = metric.latency_ms
    added = metric.fallback.added_ms if metric.fallback else 0.0
    return told.tokenise + told.queue + told.run + told.post + added


async def test_a_call_leaves_one_metric_with_everything_that_is_known() -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU))
    assert len(kept) == 0  # loading is no call
    (label,) = await pipe("good day")
    metric = only(kept)
    assert (metric.tier, metric.dtype, metric.task) == ("wasm", "q8", "text-classification")
    assert (metric.model, metric.revision) == ("tiny", manifest_json()["revision"])
    assert (metric.items, metric.tokens_in) == (1, 4)
    assert metric.confidence == label["score"]
    assert (metric.fallback, metric.error) == (None, None)
    assert metric.timestamp > 1.7e9
    assert parts(metric) == pytest.approx(metric.latency_ms.total)
    assert all(getattr(metric.latency_ms, part.name) >= 0 for part in fields(Latency))


async def test_the_first_run_after_a_load_is_a_cold_start() -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU))
    for _ in range(3):
        await pipe("good")
    assert [metric.cold_start for metric in kept] == [True, False, False]


async def test_a_list_is_one_call_whose_confidence_is_the_mean() -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU))
    results = await pipe(["good", "bad day", "good good"])
    metric = only(kept)
    assert (metric.items, metric.tokens_in) == (3, 3 + 4 + 4)
    assert metric.confidence == pytest.approx(sum(labels[0]["score"] for labels in results) / 3)


async def test_no_text_is_a_call_too() -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU))
    assert await pipe([]) == []
    metric = only(kept)
    assert (metric.items, metric.tokens_in, metric.tier, metric.confidence) == (0, 0, None, None)
    assert parts(metric) == pytest.approx(metric.latency_ms.total)


async def test_a_failover_is_told_with_its_reason_and_what_it_cost() -> None:
    bridge = FakeBridge()
    pipe, kept = await measured(bridge)
    bridge.run_errors["webgpu"] = [RunError('device lost while it ran "good"')]
    await pipe("good")
    metric = only(kept)
    assert metric.tier == "wasm"
    assert metric.fallback is not None
    assert (metric.fallback.from_tier, metric.fallback.reason) == ("webgpu", "RunError")
    assert metric.fallback.added_ms > 0
    assert metric.cold_start
    assert parts(metric) == pytest.approx(metric.latency_ms.total)
    await pipe("good")
    assert list(kept)[-1].fallback is None


async def test_what_a_failover_added_holds_the_failed_run_and_the_next_tiers_load() -> None:
    class Slow(FakeBridge):
        async def create_session(self, spec: Any) -> Any:
            await asyncio.sleep(0.02)
            return await super().create_session(spec)

    bridge = Slow()
    pipe, kept = await measured(bridge)
    bridge.run_errors["webgpu"] = [RunError("device lost")]
    await pipe("good")
    fallback = only(kept).fallback
    assert fallback is not None
    assert fallback.added_ms >= 20


async def test_a_tier_that_must_load_first_is_waited_for_in_the_queue() -> None:
    bridge = FakeBridge(facts=NO_GPU)
    pipe, kept = await measured(bridge)
    bridge.run_errors["wasm"] = [RunError("worker died")]
    with pytest.raises(NoBackendError):
        await pipe("good")

    async def slowly() -> None:
        await asyncio.sleep(0.02)

    bridge.gate = slowly
    await pipe("good")
    metric = list(kept)[-1]
    assert metric.latency_ms.queue >= 20
    assert (metric.cold_start, metric.fallback) == (True, None)


async def test_a_call_that_no_tier_answers_leaves_a_metric_without_a_tier() -> None:
    bridge = FakeBridge(facts=NO_GPU)
    pipe, kept = await measured(bridge, api=API)
    bridge.run_errors["wasm"] = [SessionError("died")]
    bridge.responses = [RemoteError('no: "good"')] * 3
    with pytest.raises(NoBackendError):
        await pipe("good")
    metric = only(kept)
    assert (metric.tier, metric.dtype, metric.error, metric.confidence) == (None, None, "NoBackendError", None)
    assert metric.fallback is not None
    assert (metric.fallback.from_tier, metric.fallback.reason) == ("wasm", "SessionError")
    assert parts(metric) == pytest.approx(metric.latency_ms.total)


@pytest.mark.parametrize(
    ("inputs", "options", "error"),
    [(None, {}, "InputError"), ("good", {"top_k": 0}, "InputError"), ("good", {"head": "x"}, "UnknownNameError")],
)
async def test_a_call_that_is_refused_leaves_its_errors_class(inputs: Any, options: dict[str, Any], error: str) -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU))
    with pytest.raises((InputError, UnknownNameError)):
        await pipe(inputs, **options)
    metric = only(kept)
    assert (metric.error, metric.tier, metric.tokens_in) == (error, None, 0)
    assert parts(metric) == pytest.approx(metric.latency_ms.total)


async def test_a_cancelled_call_leaves_one_too() -> None:
    class Hung(FakeBridge):
        hangs = False

        async def run(self, session: int, feeds: Any, *, timeout: float) -> Any:
            if self.hangs:
                await asyncio.Event().wait()
            return await super().run(session, feeds, timeout=timeout)

    bridge = Hung(facts=NO_GPU)
    pipe, kept = await measured(bridge)
    bridge.hangs = True
    call = asyncio.ensure_future(pipe("good"))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert only(kept).error == "CancelledError"


async def test_calls_side_by_side_leave_a_metric_each() -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU))
    await asyncio.gather(*(pipe("good " * count) for count in range(1, 6)))
    assert sorted(metric.tokens_in or 0 for metric in kept) == [3, 4, 5, 6, 7]


async def test_the_api_tier_is_named_with_the_dtype_that_it_ran() -> None:
    pipe, kept = await measured(FakeBridge(facts=NO_GPU), api=API, policy="only-remote")
    await pipe("good")
    assert only(kept).tier == "api"


async def test_embeddings_and_all_heads_at_once_have_no_confidence() -> None:
    def answer(given: Feeds) -> dict[str, Tensor]:
        return {**count_good(given), "sentence_embedding": Tensor.from_values("float32", [1, 2], [0.0, 1.0])}

    described = model("q8", heads=(HeadSpec("mood", "logits", ("negative", "positive"), SINGLE_LABEL),))
    for kind in (FeatureExtractionPipeline, TextClassificationPipeline):
        chain = Chain(Choice((), ()), [FakeBackend("wasm", answer, dtype="q8")], described)
        pipe: TextPipeline = kind(Runner(chain), described, device(), load_tokenizer(TOKENIZER))
        kept = RingBuffer()
        pipe.metrics = Outlet(kept)
        await pipe.all_heads("good")
        await pipe("good")
        assert [(metric.task, metric.tier) for metric in kept] == [(kind.task, "wasm")] * 2
        scores = [None, None] if kind is FeatureExtractionPipeline else [None, pytest.approx(sigmoid(1))]
        assert [metric.confidence for metric in kept] == scores


async def test_no_text_is_in_a_metric_not_even_where_errors_quote_it() -> None:
    secret = "zanzibar"
    bridge = FakeBridge()
    pipe, kept = await measured(bridge, api=API)
    await pipe(f"good {secret}")
    bridge.run_errors = {"webgpu": [RunError(secret)], "wasm": [RunError(secret)]}
    bridge.responses = [RemoteError(secret)] * 3
    with pytest.raises(NoBackendError, match=secret):
        await pipe(f"good {secret}")
    with pytest.raises(UnknownNameError, match=secret):
        await pipe("good", head=secret)
    told = json.dumps([metric.to_json() for metric in kept])
    assert len(kept) == 3
    assert secret not in told
    assert "good" not in told


async def test_the_json_has_the_shape_that_the_page_gives_too() -> None:
    bridge = FakeBridge()
    pipe, kept = await measured(bridge)
    bridge.run_errors["webgpu"] = [RunError("lost")]
    await pipe("good")
    told = json.loads(json.dumps(only(kept).to_json()))
    assert list(told) == SHAPE["metric"] == [each.name for each in fields(InferenceMetric)]
    assert list(told["latency_ms"]) == SHAPE["latency_ms"] == [each.name for each in fields(Latency)]
    assert list(told["fallback"]) == SHAPE["fallback"] == [each.name for each in fields(Fallback)]
