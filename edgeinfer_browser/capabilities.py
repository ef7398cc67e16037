"""Capabilities: what this device can really do, frozen once, with a reason for each thing it cannot.

The shim's probe (``js_shim/probe.js``) asks by doing and reports raw facts, each step under a time-out; this module
alone decides what the facts mean. So every device can be made up in a test, and the decision runs on CPython.
Printed, it is the table the demo shows and a bug report needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeinfer_browser.bridge import Bridge, default_bridge

#: WebGPU's own guaranteed minimum for ``maxBufferSize`` (bytes); less is not a usable device.
_MIN_BUFFER_SIZE = 256 * 2**20

#: Words that software adapters use of themselves in ``GPUAdapterInfo`` (SwiftShader, Mesa lavapipe, WARP).
_SOFTWARE_NAMES = ("swiftshader", "llvmpipe", "lavapipe", "softpipe", "basic render", "warp")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a device can do. None means *unknown*, which is never read as "no" and never as 0."""

    #: Where the probe ran: ``window``, ``worker``, or ``cpython``.
    host: str = "cpython"
    #: ``isSecureContext``: without it there is no WebGPU, no Cache API and no service worker.
    secure_context: bool = False
    #: WebGPU gave an adapter and a device, the test buffer could be had, and the compute shader's answer was right.
    webgpu: bool = False
    #: The adapter is a software one (SwiftShader, lavapipe, WARP): correct, and slower than WASM.
    software_adapter: bool = False
    #: ``GPUAdapterInfo`` as one line: vendor, architecture, description.
    adapter: str = ""
    #: WebGPU features of the adapter, e.g. ``shader-f16``.
    features: frozenset[str] = frozenset()
    #: Bytes; None when there is no device.
    max_buffer_size: int | None = None
    #: Bytes; None when there is no device.
    max_storage_buffer_binding_size: int | None = None
    #: ``navigator.deviceMemory`` in GiB, rounded and clamped by the browser; None where it is not told.
    device_memory: float | None = None
    #: WebAssembly compiles here (present, and not forbidden by the Content-Security-Policy).
    webassembly: bool = False
    #: WebAssembly SIMD, which every build of onnxruntime-web needs.
    wasm_simd: bool = False
    #: Shared memory and atomics: threads, which also need cross-origin isolation.
    wasm_threads: bool = False
    #: JavaScript Promise Integration: the smaller WebGPU build of onnxruntime-web can be used.
    wasm_jspi: bool = False
    #: ``crossOriginIsolated``.
    cross_origin_isolated: bool = False
    #: A dedicated module worker can be started, which is where each session lives.
    workers: bool = False
    #: ``navigator.hardwareConcurrency``; None where it is not told.
    cores: int | None = None
    #: Bytes that may still be stored (quota less usage); None where it is not told.
    storage_free: int | None = None
    #: ``navigator.storage.persisted()``; None where it is not told.
    storage_persisted: bool | None = None
    #: The Cache API can be used.
    cache_api: bool = False
    #: ``navigator.connection.saveData``: the user asked for few downloads.
    save_data: bool = False
    #: ``navigator.connection.effectiveType`` (``4g``, ``3g``, ``2g``, ``slow-2g``); None where it is not told.
    effective_type: str | None = None
    #: ``navigator.onLine``; None where it is not told.
    online: bool | None = None
    #: Why each thing that is not available is not: field name -> sentence.
    reasons: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Capabilities:
        """Read the probe's raw facts (the shape is ``Facts`` in ``js_shim/protocol.d.ts``)."""
        reasons: dict[str, str] = {}
        gpu = facts.get("gpu") or {}
        wasm = facts.get("wasm") or {}
        storage = facts.get("storage") or {}
        network = facts.get("network") or {}
        limits = gpu.get("limits") or {}
        quota, usage = storage.get("quota"), storage.get("usage")
        return cls(
            host=facts.get("host", "worker"),
            secure_context=bool(facts.get("secureContext")),
            webgpu=_webgpu(gpu, bool(facts.get("secureContext")), reasons),
            software_adapter=_is_software(gpu),
            adapter=_adapter_line(gpu.get("info") or {}),
            features=frozenset(gpu.get("features") or ()),
            max_buffer_size=limits.get("maxBufferSize"),
            max_storage_buffer_binding_size=limits.get("maxStorageBufferBindingSize"),
            device_memory=facts.get("deviceMemory"),
            webassembly=_webassembly(wasm, reasons),
            wasm_simd=_flag("wasm_simd", wasm.get("simd"), "This browser or CPU has no WebAssembly SIMD.", reasons),
            wasm_threads=_threads(facts, wasm, reasons),
            wasm_jspi=_flag("wasm_jspi", wasm.get("jspi"), "No JavaScript Promise Integration here.", reasons),
            cross_origin_isolated=_flag(
                "cross_origin_isolated",
                facts.get("crossOriginIsolated"),
                "The page was not served with COOP and COEP headers.",
                reasons,
            ),
            workers=_flag("workers", facts.get("workers"), "Dedicated workers cannot be started here.", reasons),
            cores=facts.get("cores"),
            storage_free=None if quota is None else max(0, quota - (usage or 0)),
            storage_persisted=storage.get("persisted"),
            cache_api=_flag(
                "cache_api",
                storage.get("cacheApi"),
                storage.get("cacheError") or "There is no Cache API here.",
                reasons,
            ),
            save_data=bool(network.get("saveData")),
            effective_type=network.get("effectiveType"),
            online=network.get("online"),
            reasons=reasons,
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values, for the page, for a log or for a bug report."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {**values, "features": sorted(self.features), "reasons": dict(self.reasons)}

    def __str__(self) -> str:
        width = max(map(len, self.__slots__))
        lines = [f"{name:{width}}  {value}" for name, value in self.to_json().items() if name != "reasons"]
        return "\n".join([*lines, *(f"no {name}: {reason}" for name, reason in self.reasons.items())])


async def detect(bridge: Bridge | None = None) -> Capabilities:
    """Probe this device once, before any runtime file is fetched. On CPython: what the native host is."""
    return Capabilities.from_facts(await (bridge or default_bridge()).probe())


def _flag(name: str, value: object, reason: str, reasons: dict[str, str]) -> bool:
    if not value:
        reasons[name] = reason
    return bool(value)


def _webgpu(gpu: Mapping[str, Any], secure: bool, reasons: dict[str, str]) -> bool:
    reason = _webgpu_refusal(gpu, secure)
    if reason:
        reasons["webgpu"] = reason
    return not reason


def _webgpu_refusal(gpu: Mapping[str, Any], secure: bool) -> str:
    if not gpu.get("present"):
        return "navigator.gpu is not there." + (
            "" if secure else " WebGPU needs a secure context (https or localhost)."
        )
    if gpu.get("error"):
        return f"WebGPU failed at {gpu.get('step') or 'an unknown step'}: {gpu['error']}"
    if not gpu.get("adapter"):
        return "navigator.gpu is there, but requestAdapter() gave null."
    largest = (gpu.get("limits") or {}).get("maxBufferSize")
    if largest is not None and largest < _MIN_BUFFER_SIZE:
        return f"maxBufferSize is {largest} bytes, below WebGPU's own minimum of {_MIN_BUFFER_SIZE}."
    if not gpu.get("buffer"):
        return "The test buffer could not be allocated on the device."
    if not gpu.get("compute"):
        return "The test compute shader gave a wrong answer."
    return ""


def _is_software(gpu: Mapping[str, Any]) -> bool:
    line = _adapter_line(gpu.get("info") or {}).lower()
    return bool(gpu.get("isFallbackAdapter")) or any(name in line for name in _SOFTWARE_NAMES)


def _adapter_line(info: Mapping[str, Any]) -> str:
    parts = [str(info.get(key) or "") for key in ("vendor", "architecture", "device", "description")]
    return " ".join(part for part in parts if part)


def _webassembly(wasm: Mapping[str, Any], reasons: dict[str, str]) -> bool:
    error = wasm.get("error")
    why = f"WebAssembly may not compile here: {error}" if error else "This browser has no WebAssembly."
    if error and "wasm-unsafe-eval" not in str(error):
        why += " If it is the Content-Security-Policy, add 'wasm-unsafe-eval' to script-src."
    return _flag("webassembly", wasm.get("compiles"), why, reasons)


def _threads(facts: Mapping[str, Any], wasm: Mapping[str, Any], reasons: dict[str, str]) -> bool:
    isolated = bool(facts.get("crossOriginIsolated"))
    why = "Shared WebAssembly memory is not available here."
    if not isolated:
        why = "Threads need cross-origin isolation: serve the page with COOP and COEP headers."
    return _flag("wasm_threads", isolated and wasm.get("threads"), why, reasons)
