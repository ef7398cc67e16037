"""What the probe's facts mean, on made-up devices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.capabilities import Capabilities, detect
from tests.unit.fakes import FakeBridge, device, facts

#: Fields that are False for a reason, which is told.
REASONED = (
    "webgpu",
    "webassembly",
    "wasm_simd",
    "wasm_threads",
    "wasm_jspi",
    "cross_origin_isolated",
    "workers",
    "cache_api",
)


def gone(**kept: Any) -> dict[str, Any]:
    return {"present": True, **kept}


#: (what is wrong, the facts that say so, the field that is False, a word of its reason)
DEVICES: list[tuple[str, dict[str, Any], str, str]] = [
    ("no navigator.gpu", {"gpu": {"present": False}}, "webgpu", "navigator.gpu is not there"),
    ("no facts of a GPU", {"gpu": {}}, "webgpu", "navigator.gpu is not there"),
    ("insecure context", {"gpu": {"present": False}, "secureContext": False}, "webgpu", "secure context"),
    ("adapter null", {"gpu": gone(adapter=False)}, "webgpu", "requestAdapter() gave null"),
    (
        "adapter request failed",
        {"gpu": gone(step="adapter", error="OperationError: no GPU process")},
        "webgpu",
        "adapter: OperationError: no GPU process",
    ),
    (
        "device request failed",
        {"gpu__error": "OperationError: limits", "gpu__step": "device"},
        "webgpu",
        "device: OperationError",
    ),
    ("a step timed out", {"gpu__error": "took longer than 5 s", "gpu__step": "compute"}, "webgpu", "took longer"),
    ("an error at no step", {"gpu__error": "boom", "gpu__step": ""}, "webgpu", "an unknown step: boom"),
    ("buffer refused", {"gpu__buffer": False}, "webgpu", "test buffer"),
    ("compute wrong", {"gpu__compute": False}, "webgpu", "compute shader"),
    ("tiny maxBufferSize", {"gpu__limits__maxBufferSize": 2**28 - 1}, "webgpu", "maxBufferSize is 268435455"),
    ("no WebAssembly", {"wasm__compiles": False}, "webassembly", "no WebAssembly"),
    (
        "CSP",
        {"wasm__compiles": False, "wasm__error": "CompileError: Refused by Content Security Policy"},
        "webassembly",
        "add 'wasm-unsafe-eval' to script-src",
    ),
    (
        "CSP that names its directive",
        {"wasm__compiles": False, "wasm__error": "CompileError: 'wasm-unsafe-eval' is not allowed"},
        "webassembly",
        "'wasm-unsafe-eval' is not allowed",
    ),
    ("no SIMD", {"wasm__simd": False}, "wasm_simd", "SIMD"),
    ("no threads", {"wasm__threads": False}, "wasm_threads", "Shared WebAssembly memory"),
    ("not isolated, so no threads", {"crossOriginIsolated": False}, "wasm_threads", "COOP and COEP"),
    ("not isolated", {"crossOriginIsolated": False}, "cross_origin_isolated", "COOP and COEP"),
    ("no JSPI", {"wasm__jspi": False}, "wasm_jspi", "Promise Integration"),
    ("no workers", {"workers": False}, "workers", "workers"),
    ("no Cache API", {"storage__cacheApi": False}, "cache_api", "Cache API"),
    (
        "Cache API that throws",
        {"storage__cacheApi": False, "storage__cacheError": "SecurityError: private window"},
        "cache_api",
        "private window",
    ),
]


@pytest.mark.parametrize(("name", "changes", "field", "word"), DEVICES, ids=[each[0] for each in DEVICES])
def test_what_is_missing_is_false_with_a_reason(name: str, changes: dict[str, Any], field: str, word: str) -> None:
    told = device(**changes)
    assert getattr(told, field) is False
    assert word in told.reasons[field]


@pytest.mark.parametrize("changes", [{}, *(each[1] for each in DEVICES)])
def test_a_reason_stands_for_each_false_and_for_nothing_else(changes: dict[str, Any]) -> None:
    told = device(**changes)
    assert set(told.reasons) == {field for field in REASONED if not getattr(told, field)}
    assert all(reason.strip() for reason in told.reasons.values())


def test_a_good_device_can_do_everything() -> None:
    told = device()
    assert all(getattr(told, field) for field in REASONED)
    assert (told.max_buffer_size, told.max_storage_buffer_binding_size) == (2**31, 2**30)
    assert "shader-f16" in told.features
    assert told.adapter == "acme rocket-1 Acme Rocket"


def test_a_csp_that_names_its_directive_is_not_told_twice_to_add_it() -> None:
    told = device(wasm__compiles=False, wasm__error="'wasm-unsafe-eval' is not allowed")
    assert "If it is" not in told.reasons["webassembly"]


@pytest.mark.parametrize(
    ("changes", "software"),
    [
        ({}, False),
        ({"gpu__isFallbackAdapter": True}, True),
        ({"gpu__info": {"vendor": "google", "architecture": "swiftshader"}}, True),
        ({"gpu__info": {"vendor": "mesa", "description": "llvmpipe (LLVM 17, 256 bits)"}}, True),
        ({"gpu__info": {"vendor": "microsoft", "description": "Microsoft Basic Render Driver"}}, True),
        ({"gpu__info": {"vendor": "", "architecture": "", "device": "", "description": ""}}, False),
        ({"gpu__info": None}, False),
    ],
)
def test_a_software_adapter_is_known_by_its_flag_or_its_name(changes: dict[str, Any], software: bool) -> None:
    told = device(**changes)
    assert told.software_adapter is software
    assert told.webgpu  # it is correct, if slow; the policy decides


@pytest.mark.parametrize("memory", [None, 0.25, 8, 32])
def test_device_memory_is_what_was_told_and_unknown_is_not_zero(memory: float | None) -> None:
    assert device(deviceMemory=memory).device_memory == memory


@pytest.mark.parametrize(
    ("quota", "usage", "free"), [(100, 30, 70), (100, None, 100), (100, 130, 0), (None, 5, None), (None, None, None)]
)
def test_free_storage_is_quota_less_usage_or_unknown(quota: int | None, usage: int | None, free: int | None) -> None:
    assert device(storage__quota=quota, storage__usage=usage).storage_free == free


def test_network_facts_are_kept() -> None:
    told = device(network={"online": False, "saveData": True, "effectiveType": "2g"})
    assert (told.online, told.save_data, told.effective_type) == (False, True, "2g")
    assert device(network={}).online is None


def test_no_facts_at_all_are_a_device_that_can_do_nothing_and_says_why() -> None:
    told = Capabilities.from_facts({})
    assert not any(getattr(told, field) for field in REASONED)
    assert set(told.reasons) == set(REASONED)
    assert told.cores is told.device_memory is told.storage_free is told.online is None


@pytest.mark.parametrize("changes", [{}, *(each[1] for each in DEVICES)])
def test_the_json_form_is_json_and_has_every_field(changes: dict[str, Any]) -> None:
    told = device(**changes)
    back = json.loads(json.dumps(told.to_json()))
    assert Capabilities(**{**back, "features": frozenset(back["features"])}) == told


def test_printed_it_has_a_line_for_each_field_and_each_reason() -> None:
    text = str(device(gpu={"present": False}, deviceMemory=None))
    assert "device_memory" in text
    assert "no webgpu: navigator.gpu is not there." in text
    assert len(text.splitlines()) == len(Capabilities.__slots__) - 1 + 1


async def test_detect_asks_the_bridge_it_is_given() -> None:
    assert (await detect(FakeBridge(facts=facts(cores=3)))).cores == 3


async def test_cpython_is_a_host_of_its_own() -> None:
    told = await detect(NativeBridge())
    assert told.host == "cpython"
    assert not told.webgpu
