"""pipeline(): from names and URLs to something that answers, on a fake browser."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from edgeinfer_browser import pipeline
from edgeinfer_browser.backends import Chain, FakeBackend
from edgeinfer_browser.bridge import Notice
from edgeinfer_browser.errors import (
    EdgeInferError,
    IntegrityError,
    NoBackendError,
    NotFoundError,
    RunError,
    SessionError,
    TokenizerError,
    UnknownNameError,
)
from edgeinfer_browser.pipelines import TextClassificationPipeline
from edgeinfer_browser.pipelines.base import Runner
from edgeinfer_browser.policy import Choice
from tests.unit.fakes import (
    API,
    BASE,
    TOKENIZER,
    FakeBridge,
    entry,
    facts,
    logits,
    manifest_json,
    model,
    no_answer,
    packed_folder,
)

NO_GPU = facts(gpu={"present": False})


async def classifier(bridge: FakeBridge, **options: Any) -> TextClassificationPipeline:
    made: TextClassificationPipeline = await pipeline(
        "text-classification", **{"model": BASE, "bridge": bridge, **options}
    )
    return made


def attempts(pipe: TextClassificationPipeline) -> dict[str, str]:
    return {each.tier: "ok" if each.ok else each.reason for each in pipe.info.attempts}


async def test_a_good_device_answers_on_webgpu() -> None:
    bridge = FakeBridge(packed_folder(["fp32", "fp16", "q8"]))
    pipe = await classifier(bridge)
    assert (pipe.info.tier, pipe.info.dtype) == ("webgpu", "fp16")
    assert (await pipe("good"))[0]["label"] == "positive"
    assert bridge.requests == []
    await pipe.close()
    assert bridge.sessions == {}


async def test_the_info_is_json_and_tells_model_revision_and_device() -> None:
    pipe = await classifier(FakeBridge(facts=NO_GPU), api=API)
    await pipe("good")
    told = json.loads(json.dumps(pipe.info.to_json()))
    assert (told["tier"], told["dtype"], told["model"]) == ("wasm", "q8", "tiny")
    assert told["revision"] == manifest_json()["revision"]
    assert told["last"]["tier"] == "wasm"
    assert told["attempts"][0]["tier"] == "webgpu"
    assert "navigator.gpu" in told["attempts"][0]["reason"]
    assert told["capabilities"]["reasons"]["webgpu"]
    assert told["notices"] == []


async def test_what_was_given_up_is_one_event_and_in_the_info() -> None:
    notice = Notice("quota_exceeded", "It is full.")
    events: list[dict[str, Any]] = []
    pipe = await classifier(FakeBridge(facts=NO_GPU, notices=[notice]), on_progress=events.append)
    assert pipe.info.tier == "wasm"
    told = {"stage": "notice", "kind": "quota_exceeded", "message": "It is full."}
    assert [event for event in events if event["stage"] == "notice"] == [told]
    assert pipe.info.notices == (notice,)
    assert json.loads(json.dumps(pipe.info.to_json()))["notices"] == [notice.to_json()]


@pytest.mark.parametrize(
    ("facts_", "runtime"),
    [
        (facts(), "ort.jspi.bundle.min.mjs"),
        (facts(wasm__jspi=False), "ort.webgpu.bundle.min.mjs"),
        (NO_GPU, "ort.wasm.bundle.min.mjs"),
    ],
)
async def test_each_tier_starts_with_its_own_build_of_the_runtime(facts_: dict[str, Any], runtime: str) -> None:
    bridge = FakeBridge(facts=facts_)
    await classifier(bridge)
    assert [spec.module_url.rpartition("/")[2] for spec in bridge.specs] == [runtime]


async def test_only_the_chosen_file_is_fetched() -> None:
    bridge = FakeBridge(packed_folder(["fp32", "fp16", "q8"]), facts=NO_GPU)
    await classifier(bridge)
    assert [url for url in bridge.fetched if url.endswith(".onnx")] == [f"{BASE}onnx/q8.onnx"]


@pytest.mark.parametrize(
    "options",
    [
        {"task": "translation"},
        {"policy": "cheapest"},
        {"tier": "tpu"},
        {"dtype": "int3"},
        {"while_loading": "remote"},
    ],
    ids=str,
)
async def test_an_unknown_name_is_refused_with_the_known_ones_before_anything_is_fetched(
    options: dict[str, Any],
) -> None:
    bridge = FakeBridge()
    with pytest.raises(UnknownNameError) as caught:
        await pipeline(**{"task": "text-classification", "model": BASE, "bridge": bridge, **options})
    assert all(name in str(caught.value) for name in caught.value.details["known"])
    assert bridge.fetched == []


async def test_the_old_name_of_the_task_is_the_same_task() -> None:
    pipe = await pipeline("sentiment-analysis", model=BASE, bridge=FakeBridge())
    assert pipe.task == "text-classification"


async def test_a_model_that_is_not_there_is_told_by_its_url() -> None:
    with pytest.raises(NotFoundError, match=BASE):
        await classifier(FakeBridge({}), api=API)


async def test_a_tokenizer_that_is_not_there_or_is_not_one_is_told() -> None:
    files = packed_folder(files={})
    del files[f"{BASE}tokenizer.json"]
    with pytest.raises(NotFoundError, match=r"tokenizer\.json"):
        await classifier(FakeBridge(files))
    with pytest.raises(TokenizerError):
        await classifier(FakeBridge({**files, f"{BASE}tokenizer.json": b'{"model": {"type": "Magic"}}'}))


async def test_a_damaged_model_file_leads_to_the_api() -> None:
    files = {**packed_folder(), f"{BASE}onnx/fp32.onnx": b"x", f"{BASE}onnx/q8.onnx": b"x"}
    pipe = await classifier(FakeBridge(files), api=API)
    assert pipe.info.tier == "api"
    assert attempts(pipe)["wasm"].startswith(IntegrityError.__name__)


@pytest.mark.parametrize(
    "error",
    [SessionError("no kernel for Cast(int64)"), EdgeInferError("SecurityError: workers are forbidden")],
    ids=lambda error: type(error).__name__,
)
async def test_a_session_that_cannot_be_created_leads_to_the_next_tier(error: EdgeInferError) -> None:
    pipe = await classifier(FakeBridge(session_errors={"webgpu": [error]}))
    assert pipe.info.tier == "wasm"
    assert str(error) in attempts(pipe)["webgpu"]


async def test_a_tier_with_a_wrong_golden_answer_is_left_with_its_reason() -> None:
    class WrongGpu(FakeBridge):
        async def run(self, session: int, feeds: Any, *, timeout: float) -> Any:
            outputs = await super().run(session, feeds, timeout=timeout)
            return logits(7.0, 7.0) if self.sessions[session] == "webgpu" else outputs

    bridge = WrongGpu()
    pipe = await classifier(bridge)
    assert pipe.info.tier == "wasm"
    assert "disagrees with native ONNX Runtime" in attempts(pipe)["webgpu"]
    assert set(bridge.sessions.values()) == {"wasm"}


async def test_a_lost_device_moves_the_same_text_to_the_next_tier() -> None:
    bridge = FakeBridge()
    pipe = await classifier(bridge)
    bridge.run_errors["webgpu"] = [RunError("device lost")]
    assert (await pipe("good"))[0]["label"] == "positive"
    assert pipe.info.tier == "wasm"
    assert pipe.info.last is not None
    assert pipe.info.last.tier == "wasm"
    assert set(bridge.sessions.values()) == {"wasm"}


async def test_every_tier_refused_is_one_error_with_every_reason() -> None:
    bridge = FakeBridge(facts=NO_GPU, session_errors={"wasm": [SessionError("out of memory")]})
    with pytest.raises(NoBackendError) as caught:
        await classifier(bridge)
    for word in ("navigator.gpu", "out of memory", "No API base URL"):
        assert word in str(caught.value)


async def test_a_forced_tier_is_the_only_one() -> None:
    bridge = FakeBridge(session_errors={"wasm": [SessionError("no")]})
    with pytest.raises(NoBackendError):
        await classifier(bridge, tier="wasm", api=API)
    assert bridge.requests == []


async def test_only_remote_fetches_no_model_file() -> None:
    bridge = FakeBridge()
    pipe = await classifier(bridge, policy="only-remote", api=API)
    assert (await pipe("good"))[0]["label"] == "positive"
    assert bridge.specs == []
    assert not [url for url in bridge.fetched if url.endswith(".onnx")]


async def test_fastest_measures_the_tiers_and_uses_one() -> None:
    bridge = FakeBridge()
    pipe = await classifier(bridge, policy="fastest")
    assert (await pipe("good"))[0]["label"] == "positive"
    assert len(bridge.notes) == 1
    assert len(bridge.sessions) == 1


async def test_a_plain_folder_whose_graph_has_no_token_types_is_not_fed_any() -> None:
    config = json.dumps({"id2label": {"0": "negative", "1": "positive"}}).encode()
    files = {f"{BASE}config.json": config, f"{BASE}tokenizer.json": TOKENIZER, f"{BASE}onnx/model_quantized.onnx": b"x"}
    bridge = FakeBridge(files, facts=NO_GPU)
    pipe = await classifier(bridge)
    assert (await pipe("good"))[0]["label"] == "positive"
    await pipe(["good"] * 20)
    assert {frozenset(given) for _, given in bridge.runs} == {frozenset({"input_ids", "attention_mask"})}


async def test_a_list_spreads_over_sessions_on_wasm_and_all_are_released() -> None:
    bridge = FakeBridge(facts=NO_GPU)
    pipe = await classifier(bridge)
    results = await pipe(["good", "bad"] * 20)
    assert [each[0]["label"] for each in results] == ["positive", "negative"] * 20
    assert len(bridge.sessions) == 4
    await pipe.close()
    assert bridge.sessions == {}


async def test_a_second_session_that_cannot_be_had_does_not_hurt() -> None:
    bridge = FakeBridge(facts=NO_GPU)
    pipe = await classifier(bridge)
    bridge.session_errors["wasm"] = [SessionError("out of memory")]
    assert len(await pipe(["good"] * 40)) == 40
    assert len(bridge.sessions) == 1


async def test_a_list_is_batched_on_webgpu_and_comes_back_in_order() -> None:
    bridge = FakeBridge()
    pipe = await classifier(bridge, dtype="fp32")
    texts = ["good " * (number % 7) + "bad" * (number % 2) for number in range(50)]
    before = len(bridge.runs)
    results = await pipe(texts, top_k=None)
    assert len(bridge.runs) - before == 4
    for text, labels in zip(texts, results, strict=True):
        assert labels == await pipe(text, top_k=None)


async def test_progress_tells_each_stage_and_the_bytes_of_downloads() -> None:
    heard: list[dict[str, Any]] = []
    await classifier(FakeBridge(facts=NO_GPU), on_progress=heard.append)
    stages = [each["stage"] for each in heard]
    assert stages[0] == "probe"
    assert stages[-1] == "ready"
    downloads = [(each["loaded"], each["total"]) for each in heard if "total" in each]
    assert downloads[-1] == (2, 2)


class TestWhileLoadingApi:
    """while_loading="api": answers before the local tier is ready."""

    async def start(self, bridge: FakeBridge, **options: Any) -> TextClassificationPipeline:
        return await classifier(bridge, **{"api": API, "while_loading": "api", **options})

    async def test_the_api_answers_until_the_local_tier_is_ready_which_then_takes_over(self) -> None:
        ready = asyncio.Event()
        bridge = FakeBridge(gate=ready.wait)
        pipe = await self.start(bridge)
        assert pipe.info.tier == "api"
        assert (await pipe("good"))[0]["label"] == "positive"
        assert len(bridge.requests) == 1
        ready.set()
        await pipe.ready()
        assert pipe.info.tier == "webgpu"
        assert (await pipe("bad"))[0]["label"] == "negative"
        assert len(bridge.requests) == 1

    async def test_a_local_tier_that_fails_leaves_the_api_in_use_with_its_reason(self) -> None:
        errors: dict[str, list[EdgeInferError]] = {
            "webgpu": [SessionError("no device")],
            "wasm": [SessionError("out of memory")],
        }
        pipe = await self.start(FakeBridge(session_errors=errors))
        await pipe.ready()
        assert (await pipe("good"))[0]["label"] == "positive"
        assert pipe.info.tier == "api"
        assert "no device" in attempts(pipe)["webgpu"]
        assert "out of memory" in attempts(pipe)["wasm"]

    async def test_a_load_that_ends_in_an_error_leaves_the_api_in_use_with_its_reason(self) -> None:
        class NoRuntime(FakeBridge):
            async def recall(self, key: str) -> str | None:
                raise EdgeInferError("SecurityError: storage is forbidden")

        pipe = await self.start(NoRuntime(), policy="fastest")
        await pipe.ready()
        assert (await pipe("good"))[0]["label"] == "positive"
        assert "storage is forbidden" in attempts(pipe)["local"]

    async def test_closing_while_the_local_tier_loads_leaves_nothing_behind(self) -> None:
        bridge = FakeBridge(gate=asyncio.Event().wait)
        pipe = await self.start(bridge)
        await asyncio.sleep(0.001)
        await pipe.close()
        await pipe.ready()
        assert bridge.sessions == {}

    @pytest.mark.parametrize("options", [{"policy": "only-local"}, {"tier": "wasm"}, {"api": None}], ids=str)
    async def test_no_text_leaves_where_the_api_is_not_among_the_wishes(self, options: dict[str, Any]) -> None:
        bridge = FakeBridge()
        pipe = await self.start(bridge, **options)
        await pipe("good")
        assert bridge.requests == []
        assert pipe.info.tier in ("webgpu", "wasm")

    @pytest.mark.parametrize(
        "options", [{"policy": "only-remote"}, {"tier": "api"}, {"policy": "prefer-remote"}], ids=str
    )
    async def test_nothing_is_loaded_where_the_api_comes_first_anyway(self, options: dict[str, Any]) -> None:
        bridge = FakeBridge()
        pipe = await self.start(bridge, **options)
        await pipe.ready()
        assert pipe.info.tier == "api"
        assert bridge.specs == []

    async def test_by_default_no_text_is_sent_while_loading(self) -> None:
        bridge = FakeBridge()
        pipe = await self.start(bridge, while_loading="wait")
        assert pipe.info.tier == "webgpu"
        assert bridge.requests == []


async def test_prefer_remote_falls_back_to_the_device_when_the_server_is_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("edgeinfer_browser.backends.remote.BACKOFF_SECONDS", (0.0, 0.0))
    bridge = FakeBridge(responses=[no_answer() for _ in range(3)])
    pipe = await classifier(bridge, policy="prefer-remote", api=API)
    assert (await pipe("good"))[0]["label"] == "positive"
    assert pipe.info.tier == "webgpu"
    assert "gave no answer" in next(each.reason for each in pipe.info.attempts if not each.ok)


async def test_two_pipelines_share_nothing() -> None:
    bridge = FakeBridge()
    first, second = await classifier(bridge), await classifier(bridge, tier="wasm")
    await first.close()
    assert (await second("good"))[0]["label"] == "positive"


async def test_a_packed_model_reads_its_own_tokenizer_against_its_hash() -> None:
    files = packed_folder(files={"tokenizer.json": {**entry("tokenizer.json", b"another"), "bytes": 1}})
    with pytest.raises(IntegrityError, match=r"tokenizer\.json"):
        await classifier(FakeBridge(files))


@pytest.mark.parametrize("texts", ["good", ["good", "bad"]], ids=["one", "list"])
async def test_values_that_are_not_finite_move_the_text_to_the_next_tier(texts: Any) -> None:
    class Overflowing(FakeBridge):
        proven = False

        async def run(self, session: int, feeds: Any, *, timeout: float) -> Any:
            outputs = await super().run(session, feeds, timeout=timeout)
            if self.sessions[session] == "wasm" or not self.proven:
                self.proven = True
                return outputs
            return logits(float("nan"), 1.0)

    pipe = await classifier(Overflowing(), dtype="q8")
    assert pipe.info.tier == "webgpu"
    await pipe(texts)
    assert pipe.info.tier == "wasm"
    assert any(each.tier == "webgpu" and "not finite" in each.reason for each in pipe.info.attempts)


async def test_int8_is_never_batched_as_a_batch_would_change_its_answers() -> None:
    bridge = FakeBridge()
    pipe = await classifier(bridge, tier="webgpu", dtype="q8")
    await pipe(["good"] * 20)
    assert {given["input_ids"].dims[0] for _, given in bridge.runs} == {1}


async def test_the_chain_that_answered_while_loading_is_closed_when_the_local_one_is_ready() -> None:
    stand_in, local = FakeBackend("api"), FakeBackend("wasm")
    first, second = (Chain(Choice((), ()), [backend], model("q8")) for backend in (stand_in, local))
    await first.load()
    await second.load()
    runner = Runner(first)

    async def load() -> Chain:
        return second

    runner.replace_when_ready(load)
    await runner.settled()
    assert (stand_in.closed, local.closed) == (True, False)
    assert runner.chain is second
