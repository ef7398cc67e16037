"""The "fastest" preset: tiers are timed once per device and model, and the order is remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from edgeinfer_browser.backends import Backend, FakeBackend
from edgeinfer_browser.backends.base import Feeds
from edgeinfer_browser.backends.fastest import Fastest
from edgeinfer_browser.errors import SessionError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.policy import Candidate, Choice, Refusal
from edgeinfer_browser.tensors import Tensor
from tests.unit.fakes import FakeBridge, device, feeds, logits, model, variant

WEBGPU, WASM, API = Candidate("webgpu", "fp32"), Candidate("wasm", "q8"), Candidate("api", None)
CHOICE = Choice((WEBGPU, WASM, API), (Refusal("native", "CPython only"),))
MANIFEST = model(
    *(variant(dtype, golden_outputs=(logits(0.0, 1.0),)) for dtype in ("fp32", "q8")),
    golden_inputs=(feeds(2, 4, 3),),
)


@dataclass
class Lab:
    """Tiers whose runs take the seconds they are given, by a clock that only they move."""

    seconds: dict[str, Sequence[float]]
    failing: frozenset[str] = frozenset()
    now: float = 0.0
    made: list[FakeBackend] = field(default_factory=list)

    def make(self, candidate: Candidate) -> Backend:
        durations = iter(self.seconds.get(candidate.tier, ()))

        def answer(_: Feeds) -> dict[str, Tensor]:
            self.now += next(durations)
            return logits(0.0, 1.0)

        error = SessionError("no device") if candidate.tier in self.failing else None
        self.made.append(FakeBackend(candidate.tier, answer, dtype=candidate.dtype, load_error=error))
        return self.made[-1]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lab]:
    def build(**arguments: object) -> Lab:
        made = Lab(**arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(time, "monotonic", lambda: made.now)
        return made

    return build


async def order(lab: Lab, bridge: FakeBridge, manifest: ModelManifest = MANIFEST, **facts: object) -> list[str]:
    choice = await Fastest(bridge, manifest, device(**facts)).order(CHOICE, lab.make)
    assert choice.refusals == CHOICE.refusals
    return [candidate.tier for candidate in choice.candidates]


@pytest.mark.parametrize(("webgpu", "wasm", "first"), [(0.01, 0.02, "webgpu"), (0.03, 0.02, "wasm")])
async def test_local_tiers_are_ordered_by_measured_time_and_the_api_stays_behind(
    lab: Callable[..., Lab], webgpu: float, wasm: float, first: str
) -> None:
    made = lab(seconds={"webgpu": [webgpu] * 9, "wasm": [wasm] * 9})
    tiers = await order(made, FakeBridge())
    assert (tiers[0], tiers[-1], len(tiers)) == (first, "api", 3)
    assert all(backend.closed for backend in made.made)


async def test_one_slow_run_and_the_warm_up_do_not_decide(lab: Callable[..., Lab]) -> None:
    made = lab(seconds={"webgpu": [5.0, 0.01, 9.0, 0.01, 0.01, 0.01], "wasm": [0.02] * 9})
    assert (await order(made, FakeBridge()))[0] == "webgpu"


async def test_the_order_is_remembered_for_this_device_and_model(lab: Callable[..., Lab]) -> None:
    bridge = FakeBridge()
    made = lab(seconds={"webgpu": [0.03] * 9, "wasm": [0.02] * 9})
    await order(made, bridge)
    measured = len(made.made)
    assert (await order(made, bridge))[0] == "wasm"
    assert len(made.made) == measured


@pytest.mark.parametrize("change", ["revision", "cores", "adapter"])
async def test_another_model_or_device_is_measured_anew(lab: Callable[..., Lab], change: str) -> None:
    bridge = FakeBridge()
    made = lab(seconds={"webgpu": [0.03] * 9, "wasm": [0.02] * 9})
    await order(made, bridge)
    measured = len(made.made)
    other = model(*MANIFEST.variants.values(), golden_inputs=MANIFEST.golden_inputs, revision="r2")
    changes: dict[str, dict[str, object]] = {"cores": {"cores": 2}, "adapter": {"gpu__info": {"vendor": "other"}}}
    await order(made, bridge, other if change == "revision" else MANIFEST, **changes.get(change, {}))
    assert len(made.made) == measured + 2


async def test_another_dtype_than_the_remembered_one_is_measured(lab: Callable[..., Lab]) -> None:
    bridge = FakeBridge()
    made = lab(seconds={"webgpu": [0.03] * 9, "wasm": [0.02] * 9})
    await order(made, bridge)
    forced = Choice((Candidate("webgpu", "q8"), Candidate("wasm", "fp32")), ())
    choice = await Fastest(bridge, MANIFEST, device()).order(forced, made.make)
    assert choice.candidates[0].tier == "wasm"


async def test_a_failing_tier_ranks_last_of_the_local_ones_and_is_remembered_so(lab: Callable[..., Lab]) -> None:
    bridge = FakeBridge()
    made = lab(seconds={"wasm": [5.0] * 9}, failing=frozenset({"webgpu"}))
    assert await order(made, bridge) == ["wasm", "webgpu", "api"]
    assert await order(made, bridge) == ["wasm", "webgpu", "api"]
    assert all(backend.closed for backend in made.made)
    assert len(made.made) == 2


@pytest.mark.parametrize("note", ["not json", "[]", "5", '{"webgpu/fp32": "x"}', '{"webgpu/fp32": null}', "{}"])
async def test_a_note_that_makes_no_sense_is_measured_anew(lab: Callable[..., Lab], note: str) -> None:
    class Forgetful(FakeBridge):
        async def recall(self, key: str) -> str | None:
            return note

    made = lab(seconds={"webgpu": [0.03] * 9, "wasm": [0.02] * 9})
    assert (await order(made, Forgetful()))[0] == "wasm"


async def test_nothing_is_measured_without_a_golden_sample_or_a_choice(lab: Callable[..., Lab]) -> None:
    made = lab(seconds={})
    assert await order(made, FakeBridge(), model("fp32", "q8")) == ["webgpu", "wasm", "api"]
    single = Choice((WASM, API), ())
    assert await Fastest(FakeBridge(), MANIFEST, device()).order(single, made.make) == single
    assert made.made == []


async def test_what_is_advised_against_is_not_measured_and_stays_behind(lab: Callable[..., Lab]) -> None:
    made = lab(seconds={"webgpu": [0.03] * 9, "wasm": [0.02] * 9})
    last = Candidate("wasm", "q4", advised=False)
    choice = Choice((WEBGPU, WASM, last, API), ())
    ordered = await Fastest(FakeBridge(), MANIFEST, device()).order(choice, made.make)
    assert ordered.candidates == (WASM, WEBGPU, last, API)
    assert {(each.tier, each.dtype) for each in made.made} == {("webgpu", "fp32"), ("wasm", "q8")}
