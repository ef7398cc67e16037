"""Failover: each call ends in one result, or in one error that lists every attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from edgeinfer_browser.backends import Attempt, Chain, FakeBackend
from edgeinfer_browser.backends.base import Feeds
from edgeinfer_browser.errors import (
    DeadlineError,
    EdgeInferError,
    InputError,
    IntegrityError,
    NoBackendError,
    RunError,
    SessionError,
    TokenizerError,
)
from edgeinfer_browser.policy import Choice, Refusal
from edgeinfer_browser.tensors import Tensor
from tests.unit.fakes import feeds, logits, model, variant

TEXT = feeds(2, 4, 3)


def tier(name: str, *run_errors: EdgeInferError, load_error: EdgeInferError | None = None) -> FakeBackend:
    return FakeBackend(name, lambda _: logits(0.0, 1.0), dtype=None, load_error=load_error, run_errors=run_errors)


def chain(*backends: FakeBackend, refusals: Sequence[Refusal] = ()) -> Chain:
    return Chain(Choice((), tuple(refusals)), backends, model("q8"))


def told(attempts: Sequence[Attempt]) -> list[tuple[str, bool]]:
    return [(attempt.tier, attempt.ok) for attempt in attempts]


def listed(error: NoBackendError) -> list[str]:
    return [attempt["tier"] for attempt in error.details["attempts"]]


async def test_the_first_tier_that_loads_is_used_and_the_others_are_told() -> None:
    first, second, third = tier("webgpu", load_error=SessionError("no device")), tier("wasm"), tier("api")
    tested = chain(first, second, third, refusals=[Refusal("native", "CPython only.")])
    assert await tested.load() is second
    assert told(tested.attempts) == [("native", False), ("webgpu", False), ("wasm", True)]
    assert tested.attempts[1].reason == "SessionError: no device"
    assert first.closed
    assert not third.calls


@pytest.mark.parametrize(
    "error",
    [
        SessionError("the worker died"),
        RunError("device lost"),
        DeadlineError("too slow", step="run", seconds=1),
        IntegrityError("another sha256"),
        TokenizerError("?"),
        EdgeInferError("TypeError: an error that JavaScript did not expect"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_failed_run_gives_the_same_request_to_the_next_tier(error: EdgeInferError) -> None:
    first, second = tier("webgpu", error), tier("wasm")
    tested = chain(first, second)
    assert (await tested.run(TEXT))["logits"].rows() == [[0.0, 1.0]]
    assert second.calls == [TEXT]
    assert told(tested.attempts) == [("webgpu", True), ("webgpu", False), ("wasm", True)]
    assert str(error) in tested.attempts[1].reason
    assert first.closed
    await tested.run(TEXT)
    assert len(first.calls) == 1


@pytest.mark.parametrize("kind", [SessionError, InputError, EdgeInferError, DeadlineError])
async def test_whatever_a_tier_raises_while_it_loads_it_gives_way(kind: type[EdgeInferError]) -> None:
    tested = chain(tier("webgpu", load_error=kind("SecurityError: no workers here")), tier("wasm"))
    assert (await tested.load()).tier == "wasm"


async def test_bad_input_does_not_demote_a_tier() -> None:
    first, second = tier("wasm", InputError("no such dtype")), tier("api")
    tested = chain(first, second)
    with pytest.raises(InputError):
        await tested.run(TEXT)
    await tested.run(TEXT)
    assert (len(first.calls), len(second.calls)) == (2, 0)


async def test_a_list_of_requests_moves_on_as_one() -> None:
    tested = chain(tier("webgpu", RunError("device lost")), tier("wasm"))
    assert len(await tested.run_many([TEXT] * 3)) == 3


async def test_when_every_tier_fails_one_error_lists_every_attempt() -> None:
    tested = chain(
        tier("webgpu", load_error=SessionError("no device")),
        tier("wasm", RunError("out of memory")),
        tier("api", RunError("server down")),
        refusals=[Refusal("native", "CPython only.")],
    )
    await tested.load()
    with pytest.raises(NoBackendError) as caught:
        await tested.run(TEXT)
    assert listed(caught.value) == ["native", "webgpu", "wasm", "api"]
    for word in ("CPython only", "no device", "out of memory", "server down"):
        assert word in str(caught.value)


async def test_when_nothing_loads_one_error_lists_every_attempt() -> None:
    tested = chain(tier("webgpu", load_error=SessionError("a")), tier("wasm", load_error=SessionError("b")))
    with pytest.raises(NoBackendError) as caught:
        await tested.load()
    assert listed(caught.value) == ["webgpu", "wasm"]


async def test_a_dtype_that_was_passed_over_is_an_attempt_of_its_own() -> None:
    tested = chain(tier("wasm"), refusals=[Refusal("wasm", "q8 is advised against: it strays.", "q8")])
    await tested.load()
    assert str(tested.attempts[0]) == "wasm (q8): q8 is advised against: it strays."
    assert told(tested.attempts) == [("wasm", False), ("wasm", True)]


async def test_no_candidates_are_an_error_with_the_refusals() -> None:
    with pytest.raises(NoBackendError, match="no SIMD"):
        await chain(refusals=[Refusal("wasm", "This browser has no SIMD.")]).load()
    with pytest.raises(NoBackendError, match="none to try"):
        await chain().load()


async def test_the_last_tier_is_tried_afresh_at_the_next_call() -> None:
    last = tier("api", RunError("server down"))
    tested = chain(tier("wasm", RunError("died")), last)
    with pytest.raises(NoBackendError):
        await tested.run(TEXT)
    assert tested.current is None
    assert (await tested.run(TEXT))["logits"].rows() == [[0.0, 1.0]]
    assert tested.current is last


async def test_a_last_tier_that_did_not_load_is_tried_afresh_too() -> None:
    class Later(FakeBackend):
        tries = 0

        async def load(self) -> None:
            self.tries += 1
            if self.tries == 1:
                raise SessionError("not yet")

    tested = chain(Later("wasm", lambda _: logits(1.0)))
    with pytest.raises(NoBackendError):
        await tested.load()
    assert (await tested.run(TEXT))["logits"].rows() == [[1.0]]


async def test_a_server_that_is_down_for_long_does_not_fill_the_memory() -> None:
    tested = chain(tier("api", *[RunError("down")] * 200))
    for _ in range(200):
        with pytest.raises(NoBackendError) as caught:
            await tested.run(TEXT)
        assert listed(caught.value) == ["api"]
    assert len(tested.attempts) <= 100


class Slow(FakeBackend):
    """Waits a turn in each step, so that requests overlap; ``broken`` fails all runs, as a lost device does."""

    broken = False
    loads = 0

    async def load(self) -> None:
        await asyncio.sleep(0)
        self.loads += 1

    async def run(self, feeds: Feeds) -> dict[str, Tensor]:
        await asyncio.sleep(0)
        if self.broken:
            raise RunError("device lost")
        return await super().run(feeds)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed = True


def slow(name: str, *, broken: bool = False) -> Slow:
    made = Slow(name, lambda _: logits(0.0, 1.0))
    made.broken = broken
    return made


async def test_concurrent_requests_during_a_failover_all_get_their_answer_and_the_next_tier_loads_once() -> None:
    first, second = slow("webgpu"), slow("wasm")
    tested = chain(first, second)
    await tested.load()
    first.broken = True
    answers = await asyncio.wait_for(asyncio.gather(*(tested.run(TEXT) for _ in range(20))), 5)
    assert len(answers) == 20
    assert len(second.calls) == 20
    assert second.loads == 1


async def test_concurrent_requests_all_end_when_every_tier_fails() -> None:
    tested = chain(slow("webgpu", broken=True), slow("wasm", broken=True))
    outcomes = await asyncio.wait_for(asyncio.gather(*(tested.run(TEXT) for _ in range(20)), return_exceptions=True), 5)
    assert {type(outcome) for outcome in outcomes} == {NoBackendError}


async def test_concurrent_loads_load_once() -> None:
    first = slow("wasm")
    tested = chain(first)
    assert set(await asyncio.gather(*(tested.load() for _ in range(5)))) == {first}
    assert first.loads == 1


async def test_a_tier_that_gives_a_wrong_golden_answer_is_passed_over_and_closed() -> None:
    golden = model(variant("q8", golden_outputs=(logits(1.0, 0.0),)), golden_inputs=(TEXT,))
    wrong = FakeBackend("webgpu", lambda _: logits(0.0, 1.0), dtype="q8")
    right = FakeBackend("wasm", lambda _: logits(1.0, 0.0), dtype="q8")
    tested = Chain(Choice((), ()), [wrong, right], golden)
    assert await tested.load() is right
    assert wrong.closed
    assert "GoldenSampleError" in tested.attempts[0].reason


async def test_a_closed_chain_has_closed_its_tier_and_answers_no_more() -> None:
    first, second = tier("wasm"), tier("api")
    tested = chain(first, second)
    await tested.load()
    await tested.close()
    await tested.close()
    assert first.closed
    with pytest.raises(NoBackendError):
        await tested.run(TEXT)
    assert not second.calls


async def test_closing_while_a_tier_loads_closes_that_tier_too() -> None:
    first, second = slow("wasm"), slow("api")
    tested = chain(first, second)
    loading = asyncio.create_task(tested.load())
    await asyncio.sleep(0)
    await tested.close()
    with pytest.raises(NoBackendError):
        await loading
    assert first.closed
    assert tested.current is None
    assert second.loads == 0


async def test_cancelling_a_load_gives_back_what_it_holds_and_leaves_the_tier_in_line() -> None:
    class Hanging(FakeBackend):
        hang = True

        async def run(self, feeds: Feeds) -> dict[str, Tensor]:
            if self.hang:
                await asyncio.Event().wait()
            return await super().run(feeds)

    golden = model(variant("q8", golden_outputs=(logits(0.0, 1.0),)), golden_inputs=(TEXT,))
    first = Hanging("wasm", lambda _: logits(0.0, 1.0), dtype="q8")
    tested = Chain(Choice((), ()), [first, tier("api")], golden)
    loading = asyncio.create_task(tested.load())
    await asyncio.sleep(0.001)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert first.closed
    first.hang = False
    assert await tested.load() is first


async def test_each_attempt_is_told_when_it_happens() -> None:
    heard: list[str] = []
    tested = Chain(
        Choice((), ()),
        [tier("webgpu", load_error=SessionError("no device")), tier("wasm")],
        model("q8"),
        lambda attempt: heard.append(str(attempt)),
    )
    await tested.load()
    assert heard == ["webgpu: SessionError: no device", "wasm: ok"]


async def test_a_late_failure_of_a_tier_that_was_left_already_does_not_demote_its_successor() -> None:
    class Uneven(Slow):
        async def run(self, feeds: Feeds) -> dict[str, Tensor]:
            self.calls.append(feeds)
            for _ in range(20 * len(self.calls)):
                await asyncio.sleep(0)
            raise RunError("device lost")

    first, second, third = Uneven("webgpu"), slow("wasm"), slow("api")
    tested = chain(first, second, third)
    assert len(await asyncio.gather(*(tested.run(TEXT) for _ in range(3)))) == 3
    assert tested.current is second
    assert not second.closed
    assert third.loads == 0


async def test_it_is_known_which_tier_gave_the_latest_answer() -> None:
    first, second = tier("webgpu", RunError("device lost")), tier("wasm")
    tested = chain(first, second)
    assert tested.answered is None
    await tested.run(TEXT)
    assert tested.answered is second
