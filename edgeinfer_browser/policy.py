"""choose(): Capabilities + ModelManifest + Policy -> candidates in order, and a reason for every refusal. Pure.

The default is webgpu, then wasm, then api. A tier is refused, with a sentence, for what would make it fail or
disappoint: a software adapter, a dtype that needs ``shader-f16``, a tensor larger than the binding limit, too little
memory, no WebAssembly SIMD. Forcing a tier lifts the refusals that are about taste (software adapter, memory), never
those that are about possibility.

A packed model's manifest may advise against a dtype on a tier, because its measured answers stray from fp32's. Such a
dtype is taken only where there is no other, and after all other local candidates; asked for by name it is obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES, ModelManifest, Variant

#: Tiers a call can name: the browser's two, the server's own, and the network.
TIERS = ("webgpu", "wasm", "native", "api")
LOCAL_TIERS = ("webgpu", "wasm", "native")

#: dtypes each tier likes, best first. Integer matmuls (q8) have no WebGPU kernel and hop to the CPU, so they come last.
DTYPES_BY_TIER: Mapping[str, tuple[str, ...]] = {
    "webgpu": ("fp16", "q4f16", "fp32", "q4", "q8"),
    "wasm": ("q8", "q4", "fp32"),
    "native": ("q8", "fp32", "q4"),
}

#: WASM memory of a session (measured): the runtime's own bytes, and how often the .onnx file is held at once.
WASM_RUNTIME_BYTES = 16 * 2**20
WASM_GRAPH_FACTOR = 2.6
#: The share of the reported device memory that one model may take.
_MEMORY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Policy:
    """What the author wants: tiers in order and what each must meet. Presets: :data:`PRESETS`."""

    name: str = "prefer-local"
    tiers: tuple[str, ...] = ("webgpu", "wasm", "native", "api")
    #: Take a software adapter for WebGPU although WASM is faster.
    software_adapter: bool = False
    #: No hardware GPU means API at once; a device that reports under 8 GiB takes WASM (the ``strict`` preset).
    strict: bool = False
    #: Order local tiers by measured latency (the ``fastest`` preset).
    measure: bool = False
    #: Save-Data sends to the API, when there is one, instead of downloading a model.
    honour_save_data: bool = True
    #: The tier that was asked for by name, if one was.
    forced_tier: str | None = None
    #: The dtype that was asked for by name, if one was.
    dtype: str | None = None

    @classmethod
    def of(cls, preset: str = "prefer-local", *, tier: str | None = None, dtype: str | None = None) -> Policy:
        """A preset by name, optionally narrowed to one tier or one dtype.

        Raises:
            UnknownNameError: for a name that does not exist; the message lists those that do.
            InputError: for a tier that the preset rules out, as "api" is by ``only-local``.
        """
        if preset not in PRESETS:
            raise UnknownNameError.of("policy preset", preset, PRESETS)
        if tier is not None and tier not in TIERS:
            raise UnknownNameError.of("tier", tier, TIERS)
        if dtype is not None and dtype not in SUFFIXES:
            raise UnknownNameError.of("dtype", dtype, SUFFIXES)
        policy = replace(PRESETS[preset], dtype=dtype)
        if tier is None:
            return policy
        if tier not in policy.tiers:
            raise InputError(
                f"The policy {preset!r} rules out the tier {tier!r}. It allows {', '.join(policy.tiers)}.",
                policy=preset,
                tier=tier,
            )
        return replace(policy, tiers=(tier,), forced_tier=tier, software_adapter=True, strict=False)


#: The presets by name.
PRESETS: Mapping[str, Policy] = {
    "prefer-local": Policy(),
    "only-local": Policy("only-local", LOCAL_TIERS, honour_save_data=False),
    "prefer-remote": Policy("prefer-remote", ("api", *LOCAL_TIERS)),
    "only-remote": Policy("only-remote", ("api",)),
    "fastest": Policy("fastest", measure=True, software_adapter=True),
    "strict": Policy("strict", strict=True),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tier worth trying and the dtype to load there (None for the API, which has its own file)."""

    tier: str
    dtype: str | None
    #: False where the manifest advises against the dtype: the last resort of this device.
    advised: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """A tier that is not worth trying, or one dtype that is passed over there or tried last, and why."""

    tier: str
    reason: str
    #: None when the reason is the whole tier's.
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Candidates, best first, and the refusals in the order in which they were considered."""

    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]


def remote_only_reason(
    policy: Policy, *, api: bool, webassembly: bool, save_data: bool, offline: bool = False
) -> str | None:
    """The few hard gates: why the answer will come from the API anyway, so that nothing need be downloaded.

    The page's client decides the same in ``js_shim/gate.js`` before Python is fetched; one table of cases
    (``tests/gate_cases.json``) holds the two together.
    """
    if not api or "api" not in policy.tiers:
        return None
    if policy.tiers == ("api",):
        return "The policy asks for the API only."
    if offline:
        return None
    if not webassembly:
        return "This browser has no WebAssembly, or the Content-Security-Policy forbids it."
    if save_data and policy.honour_save_data and policy.forced_tier is None and policy.tiers[0] != "api":
        return "The user asked for few downloads (Save-Data)."
    return None


def choose(capabilities: Capabilities, manifest: ModelManifest, policy: Policy, *, api: bool) -> Choice:
    """Order the tiers for this device and model. ``api`` says whether an API base URL was given."""
    shortcut = remote_only_reason(
        policy,
        api=api,
        webassembly=capabilities.webassembly or capabilities.host == "cpython",
        save_data=capabilities.save_data,
        offline=capabilities.online is False,
    )
    tiers = [tier for tier in policy.tiers if policy.forced_tier or _exists(tier, capabilities.host)]
    outcomes = [outcome for tier in tiers for outcome in _consider(tier, capabilities, manifest, policy, api, shortcut)]
    return Choice(
        _advised_first([outcome for outcome in outcomes if isinstance(outcome, Candidate)]),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Refusal)),
    )


def wasm_bytes(files: Sequence[int]) -> int:
    """About how much WASM memory a session takes, in bytes.

    Args:
        files: bytes of the .onnx file, which is copied while it is parsed, then of its external data files, each of
            which is held once.
    """
    graph, *data = files
    return int(WASM_RUNTIME_BYTES + WASM_GRAPH_FACTOR * graph + sum(data))


def _advised_first(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Local candidates that are advised against go behind the other local ones; the API keeps its place."""
    local = iter(sorted((each for each in candidates if each.tier in LOCAL_TIERS), key=lambda each: not each.advised))
    return tuple(next(local) if each.tier in LOCAL_TIERS else each for each in candidates)


def _exists(tier: str, host: str) -> bool:
    """Whether there is such a tier on this kind of host at all."""
    return tier == "api" or (tier == "native") == (host == "cpython")


def _consider(
    tier: str, device: Capabilities, manifest: ModelManifest, policy: Policy, api: bool, shortcut: str | None
) -> list[Candidate | Refusal]:
    if tier == "api":
        return [Candidate("api", None)] if api else [Refusal("api", "No API base URL was given.")]
    reason = shortcut or _tier_refusal(tier, device, policy)
    if reason:
        return [Refusal(tier, reason)]
    return _dtypes(tier, device, manifest, policy)


def _tier_refusal(tier: str, device: Capabilities, policy: Policy) -> str | None:
    """Why the tier cannot be, whatever the model."""
    if not _exists(tier, device.host):
        return "Native ONNX Runtime runs on CPython only." if tier == "native" else f"{tier} exists in browsers only."
    if tier == "native":
        return None
    for name in ("webassembly", "wasm_simd", "workers"):
        if not getattr(device, name):
            return device.reasons.get(name, f"{name} is not available.")
    if policy.strict and not (device.webgpu and not device.software_adapter):
        return "The strict policy wants a hardware GPU: " + device.reasons.get("webgpu", "the adapter is software.")
    return _webgpu_tier_refusal(device, policy) if tier == "webgpu" else None


def _webgpu_tier_refusal(device: Capabilities, policy: Policy) -> str | None:
    if not device.webgpu:
        return device.reasons.get("webgpu", "WebGPU is not available.")
    if device.software_adapter and not policy.software_adapter:
        return f"The adapter is a software one ({device.adapter or 'unnamed'}): WASM is faster."
    if policy.strict and device.device_memory is not None and device.device_memory < 8:
        return f"The strict policy wants 8 GiB for WebGPU; the device reports {device.device_memory:g}."
    return None


def _dtypes(tier: str, device: Capabilities, manifest: ModelManifest, policy: Policy) -> list[Candidate | Refusal]:
    """The best dtype of a packed model; each that may be, where only the download tells which files there are."""
    wanted = (policy.dtype,) if policy.dtype else DTYPES_BY_TIER[tier]
    why = {dtype: _dtype_refusal(tier, dtype, device, manifest, policy) for dtype in wanted}
    feasible = [dtype for dtype, reason in why.items() if reason is None]
    if not feasible:
        return [Refusal(tier, "; ".join(f"{dtype}: {reason}" for dtype, reason in why.items()))]
    if not manifest.packed or policy.dtype:
        return [Candidate(tier, dtype) for dtype in feasible]
    return _best(tier, feasible, _not_advised(tier, manifest))


def _best(tier: str, feasible: Sequence[str], poor: Mapping[str, str]) -> list[Candidate | Refusal]:
    """The first dtype that is not ``poor``, else the first; and why those before it are not taken, or it is the last.

    Args:
        tier: the tier.
        feasible: dtypes that could run, best first.
        poor: dtype -> why the manifest advises against it on this tier.
    """
    best = next((dtype for dtype in feasible if dtype not in poor), feasible[0])
    before = feasible[: feasible.index(best)]
    passed = [Refusal(tier, f"{dtype} is advised against: {poor[dtype]}.", dtype) for dtype in before]
    if best not in poor:
        return [*passed, Candidate(tier, best)]
    last = f"{best} is advised against, and tried after all other local files: {poor[best]}."
    return [Refusal(tier, last, best), Candidate(tier, best, advised=False)]


def _not_advised(tier: str, manifest: ModelManifest) -> dict[str, str]:
    """dtype -> why the manifest's advice is against it on this tier; measured when the model was packed."""
    advice = manifest.advice or {}
    return {entry["dtype"]: entry["why"] for entry in advice.get("not_advised", ()) if entry["tier"] == tier}


def _dtype_refusal(tier: str, dtype: str, device: Capabilities, manifest: ModelManifest, policy: Policy) -> str | None:
    variant = manifest.variants.get(dtype)
    if variant is None:
        return f"the model has no such file (it has {', '.join(sorted(manifest.variants))})"
    if tier == "webgpu":
        reason = _webgpu_dtype_refusal(variant, device)
        if reason:
            return reason
    return None if policy.forced_tier or tier == "native" else _memory_refusal(variant, device)


def _webgpu_dtype_refusal(variant: Variant, device: Capabilities) -> str | None:
    missing = sorted(set(variant.features) - device.features)
    if missing:
        return f"the adapter lacks {', '.join(missing)}"
    limits = [limit for limit in (device.max_buffer_size, device.max_storage_buffer_binding_size) if limit is not None]
    if limits and variant.largest_tensor > min(limits):
        return f"its largest tensor has {variant.largest_tensor} bytes, the device binds at most {min(limits)}"
    return None


def _memory_refusal(variant: Variant, device: Capabilities) -> str | None:
    if device.device_memory is None:  # unknown is not little
        return None
    needed = wasm_bytes([file.bytes for file in variant.files])
    budget = device.device_memory * 2**30 * _MEMORY_SHARE
    if needed <= budget:
        return None
    return f"it needs about {needed / 2**20:.0f} MiB, a quarter of the device's memory is {budget / 2**20:.0f} MiB"
