"""A tier is believed only after it answered a golden sample rightly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest

from edgeinfer_browser.backends import FakeBackend
from edgeinfer_browser.backends.golden import proofs, prove
from edgeinfer_browser.errors import GoldenSampleError, RunError, to_fields
from edgeinfer_browser.tensors import Tensor
from tests.unit.fakes import feeds, logits, model, variant

INPUTS = (feeds(2, 4, 3),)
PACKED = model(variant("q8", golden_outputs=(logits(0.5, -0.5),), tolerance=0.2), golden_inputs=INPUTS)


def tier(output: dict[str, Tensor], dtype: str | None = "q8") -> FakeBackend:
    return FakeBackend("webgpu", lambda _: output, dtype=dtype)


@pytest.mark.parametrize("values", [(0.5, -0.5), (0.59, -0.41), (0.41, -0.59)])
async def test_an_answer_within_the_tolerance_is_believed(values: tuple[float, ...]) -> None:
    backend = tier(logits(*values))
    await prove(backend, PACKED)
    assert backend.calls == [INPUTS[0]]


@pytest.mark.parametrize("values", [(0.7, -0.5), (0.5, -0.3), (-0.5, 0.5)])
async def test_a_wrong_value_is_refused_with_the_difference_and_what_is_allowed(values: tuple[float, ...]) -> None:
    with pytest.raises(GoldenSampleError, match=r"webgpu.*q8.*'logits' differs by .*, allowed is 0\.1") as caught:
        await prove(tier(logits(*values)), PACKED)
    assert caught.value.details["difference"] > 0.1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1])
async def test_values_that_are_not_finite_are_refused_wherever_they_stand(bad: float, place: int) -> None:
    values = [0.5, -0.5]
    values[place] = bad
    with pytest.raises(RunError, match="not finite") as caught:
        await prove(tier(logits(*values)), PACKED)
    json.dumps(to_fields(caught.value), allow_nan=False)


@pytest.mark.parametrize("output", [logits(0.5), logits(0.5, -0.5, 0.0), {}, {"other": logits(1.0)["logits"]}])
async def test_a_wrong_shape_or_a_missing_output_is_refused(output: dict[str, Tensor]) -> None:
    with pytest.raises(GoldenSampleError, match="its shape"):
        await prove(tier(output), PACKED)


#: Samples of 5, 2, 20, 300 and 38 tokens, and what is right for each: the number of its tokens.
SAMPLES = tuple(feeds(*range(count)) for count in (5, 2, 20, 300, 38))
COUNTS = tuple(logits(float(sample["input_ids"].dims[1])) for sample in SAMPLES)
OF_LENGTHS = model(variant("fp32", golden_outputs=COUNTS), golden_inputs=SAMPLES)


def wrong_from(tokens: int, name: str) -> FakeBackend:
    """A tier whose kernel for ``tokens`` or more is broken, as one of onnxruntime-web's is from 32 on."""

    def answer(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
        count = given["input_ids"].dims[1]
        return logits(float(count) if count < tokens else -100.0)

    return FakeBackend(name, answer, dtype="fp32")


@pytest.mark.parametrize(
    ("tier", "lengths", "run"),
    [
        ("webgpu", [5, 2, 20, 300, 38], [5, 38]),
        ("webgpu", [5, 300, 33, 40], [5, 33]),
        ("webgpu", [5, 32, 20], [5, 32]),
        ("webgpu", [40, 50], [40]),
        ("webgpu", [5], [5]),
        ("wasm", [5, 2, 20, 300, 38], [5]),
        ("native", [5, 300], [5]),
    ],
)
def test_webgpu_is_proved_by_the_shortest_of_more_than_32_tokens_too(
    tier: str, lengths: list[int], run: list[int]
) -> None:
    samples = [feeds(*range(length)) for length in lengths]
    assert [lengths[number] for number in proofs(tier, samples)] == run


def test_one_picture_is_enough_as_the_graph_makes_all_of_one_size() -> None:
    sizes = ((16, 24), (40, 61))
    pictures = [{"pixels": Tensor.from_values("uint8", [1, h, w, 3], [0] * (h * w * 3))} for h, w in sizes]
    assert proofs("webgpu", pictures) == [0]


@pytest.mark.parametrize("tokens", [33, 38])
async def test_a_gpu_kernel_that_is_wrong_for_longer_texts_alone_is_found(tokens: int) -> None:
    with pytest.raises(GoldenSampleError, match="golden sample of 38 tokens") as caught:
        await prove(wrong_from(tokens, "webgpu"), OF_LENGTHS)
    assert caught.value.details["sample"] == 4
    right = wrong_from(1000, "webgpu")
    await prove(right, OF_LENGTHS)
    assert len(right.calls) == 2


async def test_a_run_that_fails_is_told_as_it_is() -> None:
    with pytest.raises(RunError, match="device lost"):
        await prove(FakeBackend("webgpu", dtype="q8", run_errors=[RunError("device lost")]), PACKED)


@pytest.mark.parametrize(
    ("manifest", "dtype"),
    [(model("q8"), "q8"), (PACKED, None), (model("q8", golden_inputs=INPUTS), "q8"), (PACKED, "fp32")],
)
async def test_without_a_sample_nothing_is_run(manifest: object, dtype: str | None) -> None:
    backend = tier(logits(9.0, 9.0), dtype)
    await prove(backend, manifest)  # type: ignore[arg-type]
    assert backend.calls == []
