"""Which tiers a device, a model and a wish lead to, and the reason of each refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import ModelFile, ModelManifest, Variant
from edgeinfer_browser.policy import (
    PRESETS,
    Candidate,
    Choice,
    Policy,
    Refusal,
    choose,
    remote_only_reason,
    wasm_bytes,
)
from tests.unit.fakes import device, model, variant

MODEL = model("fp32", "fp16", "q8", "q4", "q4f16")
GATE_CASES = json.loads((Path(__file__).parents[1] / "gate_cases.json").read_text(encoding="utf-8"))


def wish(preset: str = "prefer-local", **narrowed: Any) -> Policy:
    return Policy.of(preset, **narrowed)


def tiers(choice: Choice) -> list[str]:
    return [candidate.tier for candidate in choice.candidates]


def reason(choice: Choice, tier: str) -> str:
    return next(refusal.reason for refusal in choice.refusals if refusal.tier == tier)


#: (what is special, facts changed, preset, has an API, tiers in order)
CASES: list[tuple[str, dict[str, Any], str, bool, list[str]]] = [
    ("a good device", {}, "prefer-local", True, ["webgpu", "wasm", "api"]),
    ("a good device without an API", {}, "prefer-local", False, ["webgpu", "wasm"]),
    ("no GPU", {"gpu": {"present": False}}, "prefer-local", True, ["wasm", "api"]),
    ("adapter null", {"gpu": {"present": True, "adapter": False}}, "prefer-local", True, ["wasm", "api"]),
    ("buffer refused", {"gpu__buffer": False}, "prefer-local", True, ["wasm", "api"]),
    ("software adapter", {"gpu__isFallbackAdapter": True}, "prefer-local", True, ["wasm", "api"]),
    ("software adapter by name", {"gpu__info": {"vendor": "swiftshader"}}, "prefer-local", False, ["wasm"]),
    ("no SIMD", {"wasm__simd": False}, "prefer-local", True, ["api"]),
    ("no workers", {"workers": False}, "prefer-local", True, ["api"]),
    ("no WebAssembly", {"wasm__compiles": False}, "prefer-local", True, ["api"]),
    ("no WebAssembly and no API", {"wasm__compiles": False}, "prefer-local", False, []),
    ("Save-Data", {"network__saveData": True}, "prefer-local", True, ["api"]),
    ("Save-Data without an API", {"network__saveData": True}, "prefer-local", False, ["webgpu", "wasm"]),
    (
        "Save-Data, offline",
        {"network__saveData": True, "network__online": False},
        "prefer-local",
        True,
        ["webgpu", "wasm", "api"],
    ),
    ("memory unknown", {"deviceMemory": None}, "prefer-local", True, ["webgpu", "wasm", "api"]),
    ("only-local", {}, "only-local", True, ["webgpu", "wasm"]),
    ("only-local, Save-Data", {"network__saveData": True}, "only-local", True, ["webgpu", "wasm"]),
    ("only-remote", {}, "only-remote", True, ["api"]),
    ("only-remote without an API", {}, "only-remote", False, []),
    ("prefer-remote", {}, "prefer-remote", True, ["api", "webgpu", "wasm"]),
    ("prefer-remote without an API", {}, "prefer-remote", False, ["webgpu", "wasm"]),
    ("prefer-remote, no GPU", {"gpu": {"present": False}}, "prefer-remote", True, ["api", "wasm"]),
    ("fastest takes a software adapter", {"gpu__isFallbackAdapter": True}, "fastest", False, ["webgpu", "wasm"]),
    ("fastest, Save-Data", {"network__saveData": True}, "fastest", True, ["api"]),
    ("strict on a good device", {}, "strict", True, ["webgpu", "wasm", "api"]),
    ("strict without a GPU", {"gpu": {"present": False}}, "strict", True, ["api"]),
    ("strict without a GPU or an API", {"gpu": {"present": False}}, "strict", False, []),
    ("strict on a software adapter", {"gpu__isFallbackAdapter": True}, "strict", True, ["api"]),
    ("strict with 4 GiB", {"deviceMemory": 4}, "strict", True, ["wasm", "api"]),
    ("strict with 8 GiB", {"deviceMemory": 8}, "strict", True, ["webgpu", "wasm", "api"]),
    ("strict, memory unknown", {"deviceMemory": None}, "strict", True, ["webgpu", "wasm", "api"]),
]


@pytest.mark.parametrize(("name", "changes", "preset", "api", "expected"), CASES, ids=[each[0] for each in CASES])
def test_a_device_gets_its_tiers_in_order_and_every_other_tier_a_reason(
    name: str, changes: dict[str, Any], preset: str, api: bool, expected: list[str]
) -> None:
    policy = wish(preset)
    choice = choose(device(**changes), MODEL, policy, api=api)
    assert tiers(choice) == expected
    considered = {tier for tier in policy.tiers if tier != "native"}
    assert {refusal.tier for refusal in choice.refusals} == considered - set(expected)
    assert all(len(refusal.reason) > 10 for refusal in choice.refusals)


def test_every_preset_is_among_the_cases() -> None:
    assert {preset for _, _, preset, _, _ in CASES} == set(PRESETS)
    assert all(policy.name == name for name, policy in PRESETS.items())


@pytest.mark.parametrize(
    ("changes", "tier", "word"),
    [
        ({"gpu": {"present": False}}, "webgpu", "navigator.gpu"),
        ({"gpu__info": {"vendor": "Google SwiftShader"}}, "webgpu", "Google SwiftShader"),
        ({"gpu__isFallbackAdapter": True, "gpu__info": {}}, "webgpu", "unnamed"),
        ({"wasm__simd": False}, "wasm", "SIMD"),
        ({"workers": False}, "webgpu", "workers"),
        ({"wasm__compiles": False}, "wasm", "WebAssembly"),
    ],
)
def test_a_refusal_names_what_is_wrong(changes: dict[str, Any], tier: str, word: str) -> None:
    assert word in reason(choose(device(**changes), MODEL, wish(), api=False), tier)


def test_a_missing_api_is_named() -> None:
    assert "API base URL" in reason(choose(device(), MODEL, wish(), api=False), "api")


def test_strict_names_the_memory_it_wants() -> None:
    assert "8 GiB" in reason(choose(device(deviceMemory=4), MODEL, wish("strict"), api=True), "webgpu")


def test_strict_names_the_software_adapter() -> None:
    refused = choose(device(gpu__isFallbackAdapter=True), MODEL, wish("strict"), api=True)
    assert "software" in reason(refused, "wasm")


F16 = {"gpu__features": ["shader-f16"]}
NO_F16 = {"gpu__features": ["timestamp-query"]}


@pytest.mark.parametrize(
    ("dtypes", "changes", "tier", "dtype"),
    [
        (["fp32", "fp16", "q8", "q4", "q4f16"], F16, "webgpu", "fp16"),
        (["fp32", "fp16", "q8", "q4", "q4f16"], NO_F16, "webgpu", "fp32"),
        (["fp32", "q8", "q4f16"], F16, "webgpu", "q4f16"),
        (["q8", "q4"], F16, "webgpu", "q4"),
        (["q8", "fp32"], NO_F16, "webgpu", "fp32"),
        (["q8"], F16, "webgpu", "q8"),
        (["fp16"], NO_F16, "webgpu", None),
        (["fp32", "fp16", "q8", "q4"], {}, "wasm", "q8"),
        (["fp32", "q4"], {}, "wasm", "q4"),
        (["fp32", "fp16"], {}, "wasm", "fp32"),
        (["fp16", "q4f16"], {}, "wasm", None),
    ],
)
def test_each_tier_takes_the_dtype_it_runs_best(
    dtypes: list[str], changes: dict[str, Any], tier: str, dtype: str | None
) -> None:
    choice = choose(device(**changes), model(*dtypes), wish(), api=False)
    assert {c.tier: c.dtype for c in choice.candidates}.get(tier) == dtype


def test_a_dtype_without_its_feature_is_refused_by_the_features_name() -> None:
    refused = choose(device(**NO_F16), MODEL, wish(dtype="fp16"), api=False)
    assert "shader-f16" in reason(refused, "webgpu")


def test_a_forced_dtype_that_is_missing_is_refused_with_those_the_model_has() -> None:
    refused = choose(device(), model("fp32", "q8"), wish(dtype="q4"), api=False)
    assert not refused.candidates
    assert "fp32, q8" in reason(refused, "webgpu")
    assert "fp32, q8" in reason(refused, "wasm")


def test_a_forced_dtype_is_the_only_one_tried() -> None:
    choice = choose(device(), MODEL, wish(dtype="fp32"), api=True)
    assert [(c.tier, c.dtype) for c in choice.candidates] == [("webgpu", "fp32"), ("wasm", "fp32"), ("api", None)]


@pytest.mark.parametrize("limit", ["maxBufferSize", "maxStorageBufferBindingSize"])
def test_a_tensor_larger_than_a_limit_refuses_webgpu_with_both_numbers(limit: str) -> None:
    large = model(variant("fp32", largest_tensor=300 * 2**20))
    exact = {f"gpu__limits__{limit}": 300 * 2**20}
    assert tiers(choose(device(**exact), large, wish(), api=False)) == ["webgpu", "wasm"]
    choice = choose(device(**{f"gpu__limits__{limit}": 300 * 2**20 - 1}), large, wish(), api=False)
    assert tiers(choice) == ["wasm"]
    assert str(300 * 2**20) in reason(choice, "webgpu")
    assert str(300 * 2**20 - 1) in reason(choice, "webgpu")


def test_a_smaller_dtype_is_taken_where_the_best_is_too_large() -> None:
    mixed = model(variant("fp32", largest_tensor=2**40), variant("q4", largest_tensor=2**20))
    choice = choose(device(), mixed, wish(), api=False)
    assert choice.candidates[0].dtype == "q4"


def test_no_limits_told_refuse_nothing() -> None:
    assert "webgpu" in tiers(
        choose(device(gpu__limits={}), model(variant("fp32", largest_tensor=2**40)), wish(), api=False)
    )


@pytest.mark.parametrize(
    ("memory", "local"), [(0.25, False), (0.5, False), (1, False), (2, True), (8, True), (None, True)]
)
def test_too_little_memory_refuses_local_tiers_and_unknown_memory_does_not(memory: float | None, local: bool) -> None:
    hundred = model(variant("q8", 100 * 2**20))  # wants about 276 MiB
    choice = choose(device(deviceMemory=memory), hundred, wish(), api=True)
    assert tiers(choice) == (["webgpu", "wasm", "api"] if local else ["api"])
    if not local:
        assert "276 MiB" in reason(choice, "wasm")


def in_files(*sizes: int) -> ModelManifest:
    """A model whose fp32 has an .onnx file and then data files of these bytes."""
    return model(Variant("fp32", tuple(ModelFile(f"onnx/{n}", size) for n, size in enumerate(sizes))))


def test_weights_in_external_data_count_once_and_in_the_onnx_file_more_than_twice() -> None:
    assert wasm_bytes([100_000]) == 16 * 2**20 + 260_000
    assert wasm_bytes([1_000, 60_000, 40_000]) == 16 * 2**20 + 2_600 + 100_000
    assert wasm_bytes([0]) == 16 * 2**20


def test_a_device_that_holds_a_model_once_takes_it_with_external_data_and_not_in_one_file() -> None:
    small = device(deviceMemory=1)  # a quarter is 256 MiB
    assert tiers(choose(small, in_files(2**16, 100 * 2**20, 90 * 2**20), wish(), api=True)) == ["webgpu", "wasm", "api"]
    refused = choose(small, in_files(190 * 2**20), wish(), api=True)
    assert tiers(refused) == ["api"]
    assert "510 MiB" in reason(refused, "wasm")


@pytest.mark.parametrize(("mebibytes", "local"), [(239, True), (241, False)])
def test_external_data_that_does_not_fit_is_refused_all_the_same(mebibytes: int, local: bool) -> None:
    choice = choose(device(deviceMemory=1), in_files(0, mebibytes * 2**20), wish(), api=True)
    assert ("wasm" in tiers(choice)) == local


def test_the_unknown_sizes_of_a_plain_folder_refuse_nothing() -> None:
    plain = model(variant("fp32", 0), packed=False)
    assert tiers(choose(device(deviceMemory=0.25), plain, wish(), api=False)) == ["webgpu", "wasm"]


@pytest.mark.parametrize("tier", ["webgpu", "wasm"])
def test_a_forced_tier_lifts_refusals_of_taste(tier: str) -> None:
    poor = device(gpu__isFallbackAdapter=True, deviceMemory=0.25, network__saveData=True)
    choice = choose(poor, model(variant("q8", 2**30)), wish("strict", tier=tier), api=True)
    assert tiers(choice) == [tier]


@pytest.mark.parametrize(
    ("tier", "changes", "word"),
    [
        ("webgpu", {"gpu": {"present": False}}, "navigator.gpu"),
        ("webgpu", {"wasm__compiles": False}, "WebAssembly"),
        ("wasm", {"wasm__simd": False}, "SIMD"),
        ("wasm", {"workers": False}, "workers"),
        ("native", {}, "CPython only"),
    ],
)
def test_a_forced_tier_that_cannot_be_is_refused_all_the_same(tier: str, changes: dict[str, Any], word: str) -> None:
    choice = choose(device(**changes), MODEL, wish(tier=tier), api=True)
    assert not choice.candidates
    assert word in reason(choice, tier)


@pytest.mark.parametrize("tier", ["webgpu", "wasm"])
def test_a_browser_tier_is_refused_on_cpython(tier: str) -> None:
    choice = choose(Capabilities(host="cpython"), MODEL, wish(tier=tier), api=True)
    assert not choice.candidates
    assert "browser" in reason(choice, tier)


@pytest.mark.parametrize(("api", "expected"), [(True, ["native", "api"]), (False, ["native"])])
@pytest.mark.parametrize("preset", ["prefer-local", "fastest", "strict"])
def test_on_cpython_the_native_tier_comes_first(preset: str, api: bool, expected: list[str]) -> None:
    assert tiers(choose(Capabilities(host="cpython"), MODEL, wish(preset), api=api)) == expected


@pytest.mark.parametrize("narrowed", [{"preset": "best"}, {"tier": "tpu"}, {"dtype": "int3"}])
def test_an_unknown_name_lists_the_known_ones(narrowed: dict[str, str]) -> None:
    with pytest.raises(UnknownNameError) as caught:
        Policy.of(**narrowed)
    assert len(caught.value.details["known"]) >= 4


@pytest.mark.parametrize("case", GATE_CASES, ids=[case["why"] for case in GATE_CASES])
def test_the_gates_decide_as_the_shared_table_says(case: dict[str, Any]) -> None:
    policy = Policy.of(case["preset"], tier=case.get("tier"))
    why = remote_only_reason(
        policy,
        api=case["api"],
        webassembly=case["webassembly"],
        save_data=case["saveData"],
        offline=case.get("offline", False),
    )
    assert (why is not None) == case["remote"]
    assert why is None or why.strip()


@pytest.mark.parametrize("case", [case for case in GATE_CASES if case["remote"]], ids=lambda case: str(case["why"]))
def test_where_the_gates_say_remote_the_choice_is_the_api_alone(case: dict[str, Any]) -> None:
    here = device(
        wasm__compiles=case["webassembly"],
        network__saveData=case["saveData"],
        network__online=not case.get("offline", False),
    )
    choice = choose(here, MODEL, Policy.of(case["preset"], tier=case.get("tier")), api=True)
    assert tiers(choice) == ["api"]


@pytest.mark.parametrize(("preset", "tier"), [("only-local", "api"), ("only-remote", "wasm")])
def test_a_tier_that_the_preset_rules_out_is_refused(preset: str, tier: str) -> None:
    with pytest.raises(InputError, match=f"{preset}.*rules out the tier '{tier}'"):
        Policy.of(preset, tier=tier)


def test_a_packed_model_has_one_candidate_a_tier_and_a_plain_folder_every_dtype_that_may_be() -> None:
    packed = choose(device(), MODEL, wish(), api=True)
    assert [(c.tier, c.dtype) for c in packed.candidates] == [("webgpu", "fp16"), ("wasm", "q8"), ("api", None)]
    plain = choose(device(), model("fp32", "fp16", "q8", packed=False), wish(), api=True)
    assert [(c.tier, c.dtype) for c in plain.candidates] == [
        ("webgpu", "fp16"),
        ("webgpu", "fp32"),
        ("webgpu", "q8"),
        ("wasm", "q8"),
        ("wasm", "fp32"),
        ("api", None),
    ]


STRAYS = "its worst cosine to fp32 is 0.7000, below 0.95, on 200 texts"


def against(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Advice against (tier, dtype) pairs."""
    return {"not_advised": [{"tier": tier, "dtype": dtype, "why": STRAYS} for tier, dtype in pairs]}


EVERYWHERE = against(*((tier, "q8") for tier in ("webgpu", "wasm", "native")))


def test_a_dtype_that_is_advised_against_is_passed_over_with_the_reason() -> None:
    choice = choose(device(), model("fp32", "fp16", "q8", advice=EVERYWHERE), wish(), api=True)
    assert choice.candidates == (Candidate("webgpu", "fp16"), Candidate("wasm", "fp32"), Candidate("api", None))
    assert choice.refusals == (Refusal("wasm", f"q8 is advised against: {STRAYS}.", "q8"),)


def test_the_server_passes_it_over_too() -> None:
    choice = choose(Capabilities(host="cpython"), model("fp32", "q8", advice=EVERYWHERE), wish(), api=False)
    assert choice.candidates == (Candidate("native", "fp32"),)


def test_advice_is_a_tier_s_own() -> None:
    choice = choose(device(), model("fp32", "fp16", "q8", advice=against(("webgpu", "fp16"))), wish(), api=False)
    assert choice.candidates == (Candidate("webgpu", "fp32"), Candidate("wasm", "q8"))


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("prefer-local", ["wasm fp32", "webgpu q8", "api None"]),
        ("only-local", ["wasm fp32", "webgpu q8"]),
        ("fastest", ["wasm fp32", "webgpu q8", "api None"]),
        ("prefer-remote", ["api None", "wasm fp32", "webgpu q8"]),
    ],
)
def test_the_only_dtype_of_a_tier_is_tried_after_all_local_ones_when_it_is_advised_against(
    preset: str, expected: list[str]
) -> None:
    large = model(variant("fp32", largest_tensor=2**40), "q8", advice=EVERYWHERE)  # WebGPU cannot bind fp32's
    choice = choose(device(), large, wish(preset), api=True)
    assert [f"{each.tier} {each.dtype}" for each in choice.candidates] == expected
    assert [each.advised for each in choice.candidates if each.tier == "webgpu"] == [False]
    (told,) = [each for each in choice.refusals if each.tier == "webgpu"]
    assert told.dtype == "q8"
    assert "after all other local files" in told.reason
    assert STRAYS in told.reason


def test_a_model_of_nothing_else_runs_on_what_it_has_and_says_so() -> None:
    choice = choose(device(), model("q8", advice=EVERYWHERE), wish(), api=False)
    assert [(each.tier, each.dtype, each.advised) for each in choice.candidates] == [
        ("webgpu", "q8", False),
        ("wasm", "q8", False),
    ]
    assert {each.dtype for each in choice.refusals if each.tier != "api"} == {"q8"}


def test_a_dtype_asked_for_by_name_is_obeyed_whatever_is_advised() -> None:
    choice = choose(device(), model("fp32", "q8", advice=EVERYWHERE), wish(dtype="q8"), api=True)
    assert choice.candidates == (Candidate("webgpu", "q8"), Candidate("wasm", "q8"), Candidate("api", None))
    assert choice.refusals == ()
    forced = choose(device(), model("fp32", "q8", advice=EVERYWHERE), wish(tier="wasm", dtype="q8"), api=False)
    assert forced.candidates == (Candidate("wasm", "q8"),)


def test_a_tier_asked_for_by_name_takes_what_is_advised_there() -> None:
    choice = choose(device(), model("fp32", "q8", advice=EVERYWHERE), wish(tier="wasm"), api=False)
    assert choice.candidates == (Candidate("wasm", "fp32"),)


@pytest.mark.parametrize("advice", [None, {}, {"files": [], "warnings": []}, {"not_advised": []}])
def test_without_advice_nothing_is_passed_over(advice: dict[str, Any] | None) -> None:
    choice = choose(device(), model("fp32", "q8", advice=advice), wish(), api=False)
    assert choice.candidates == (Candidate("webgpu", "fp32"), Candidate("wasm", "q8"))
