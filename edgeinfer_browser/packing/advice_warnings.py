"""What may go wrong with a packed model on users' devices, known before any user meets it: what, why, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeinfer_browser.packing.quality import quality_reason
from edgeinfer_browser.policy import wasm_bytes

#: Bytes that a first visit may download for the model.
FIRST_VISIT_BYTES = 150_000_000
#: The largest file that common static hosts take (Cloudflare's static assets and KV values, for two).
HOST_FILE_BYTES = 25 * 2**20
#: wasm32 has addresses for no more.
WASM_ADDRESS_BYTES = 4 * 2**30
#: maxStorageBufferBindingSize that every WebGPU device has; many have more.
WEBGPU_BINDING_BYTES = 128 * 2**20
#: Parameters from which int4 is advised, from which it is too slow on most devices, and from which the API is.
INT4_FROM, SLOW_FROM, API_FROM = 500_000_000, 3_000_000_000, 7_000_000_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What edgeinfer.json alone does not say, by dtype. All of it may be left out."""

    #: dtype -> op type -> nodes that make a GPU wait (:func:`edgeinfer_browser.packing.int64_nodes.int64_nodes`).
    int64_nodes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: dtype -> samples or texts whose answer has a NaN or an infinity.
    not_finite: Mapping[str, int] = field(default_factory=dict)
    #: config.json; None when it was not read.
    config: Mapping[str, Any] | None = None


def size_of(manifest: Mapping[str, Any], dtype: str) -> int:
    """Bytes to download for a dtype."""
    return sum(file["bytes"] for file in manifest["variants"][dtype]["files"])


def wasm_bytes_of(manifest: Mapping[str, Any], dtype: str) -> int:
    """About how much WASM memory a session of a dtype takes, in bytes."""
    return wasm_bytes([file["bytes"] for file in manifest["variants"][dtype]["files"]])


def unfit_reason(manifest: Mapping[str, Any], facts: Facts, tier: str, dtype: str) -> str | None:
    """Why a dtype is not advised on a tier although the tier could load it; None when it may be."""
    if facts.not_finite.get(dtype):
        return f"it answered NaN or infinity to {facts.not_finite[dtype]} of the samples"
    if tier == "wasm" and wasm_bytes_of(manifest, dtype) > WASM_ADDRESS_BYTES:
        return "it needs more memory than WASM can address"
    return None if dtype == "fp32" else quality_reason(manifest, dtype)


def warnings_about(manifest: Mapping[str, Any], facts: Facts) -> list[dict[str, str]]:
    """Every warning, as ``{what, why, do}``; each is a sentence without its full stop."""
    return [{"what": what, "why": why, "do": do} for rule in _RULES for what, why, do in rule(manifest, facts)]


Said = Iterator[tuple[str, str, str]]


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def _first_visit(manifest: Mapping[str, Any], _: Facts) -> Said:
    large = {dtype: size_of(manifest, dtype) for dtype in manifest["variants"]}
    named = [f"{dtype} ({_megabytes(size)})" for dtype, size in large.items() if size > FIRST_VISIT_BYTES]
    if named:
        yield (
            f"{', '.join(named)}: too large for a first visit",
            f"More than {_megabytes(FIRST_VISIT_BYTES)} is a minute on a 20 Mbit/s line, and browsers may evict it",
            "Quantize it (q8, q4), take a smaller model, or answer from the API while it loads",
        )


def _host_files(manifest: Mapping[str, Any], _: Facts) -> Said:
    files = [file for variant in manifest["variants"].values() for file in variant["files"]]
    named = [f"{file['path']} ({_megabytes(file['bytes'])})" for file in files if file["bytes"] > HOST_FILE_BYTES]
    if named:
        yield (
            f"{', '.join(named)}: single files over 25 MiB",
            "Common static hosts refuse them (Cloudflare's static assets end at 25 MiB)",
            "Pack with --split-mb 25, which cuts the external data in parts, or use a host without that limit",
        )


def _memory(manifest: Mapping[str, Any], _: Facts) -> Said:
    for dtype in manifest["variants"]:
        needed = wasm_bytes_of(manifest, dtype)
        if needed > WASM_ADDRESS_BYTES:
            yield (
                f"{dtype} needs about {needed / 2**30:.1f} GiB of WASM memory",
                "WASM addresses 4 GiB: 16 MB are the runtime's, then external data once and the .onnx file 2.6 times",
                "Keep the weights in external data, take fewer bits, or run it on the API tier",
            )


def _bindings(manifest: Mapping[str, Any], _: Facts) -> Said:
    for dtype, variant in manifest["variants"].items():
        if variant["largest_tensor"] > WEBGPU_BINDING_BYTES:
            yield (
                f"{dtype} has a tensor of {variant['largest_tensor'] / 2**20:.0f} MiB",
                "WebGPU devices need bind no more than 128 MiB, so some refuse this file",
                "Quantize the embeddings, or expect WASM on those devices",
            )


def _int64(manifest: Mapping[str, Any], facts: Facts) -> Said:
    for dtype, nodes in facts.int64_nodes.items():
        if dtype in manifest["variants"] and nodes:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(nodes.items()))
            yield (
                f"{dtype} has {sum(nodes.values())} nodes that block the GPU with int64 values it computed ({kinds})",
                "They have no WebGPU kernel: each run waits for the GPU, computes them on the CPU and copies back",
                "Compute those values in int32 or float, or outside the graph",
            )


def _not_finite(manifest: Mapping[str, Any], facts: Facts) -> Said:
    for dtype, count in facts.not_finite.items():
        if dtype in manifest["variants"] and count:
            cause = "float16 ends at 65,504, and a larger activation overflows" if "16" in dtype else "It overflowed"
            yield (
                f"{dtype} answered NaN or infinity to {count} of the samples",
                cause,
                "Keep the nodes that overflow in float32, or leave this variant out",
            )


def _parameters(manifest: Mapping[str, Any], _: Facts) -> Said:
    count = manifest.get("parameters") or 0
    size, variants = f"{count / 1e9:.1f} billion parameters", set(manifest["variants"])
    if count > API_FROM:
        yield f"{size}: more than a browser can hold", "Even at 4 bits that is over 3.5 GB", "Run it on the API tier"
    elif count > SLOW_FROM:
        why = "At 4 bits it is 1.5 to 3.5 GB: few devices have the memory, and fewer the speed"
        yield f"{size}: heavy for a browser", why, "Ship q4 to strong devices only, and give the others the API"
    if INT4_FROM <= count <= API_FROM and not variants & {"q4", "q4f16"}:
        yield f"{size}, and no 4-bit file", "From 500 million on int8 is too large for most visits", "Pack a q4 variant"
    if 0 < count < INT4_FROM and "q8" not in variants:
        why = "Below 500 million parameters int8 is the smallest file that keeps its quality, and the fastest in WASM"
        how = " with --calibration FOLDER: convolutions want scales found on pictures" if _sees(manifest) else ""
        yield "There is no int8 file", why, f"Pack a q8 variant{how}"


def _quality(manifest: Mapping[str, Any], _: Facts) -> Said:
    better = "Search for a better one (edgeinfer quantize --target cosine=0.995)"
    if _sees(manifest):
        better = "Pack it with scales found on pictures (--calibration FOLDER)"
    for dtype in manifest["variants"]:
        reason = None if dtype == "fp32" else quality_reason(manifest, dtype)
        if reason:
            yield (
                f"{dtype} is not advised: {reason}",
                "Browser and server would give different answers",
                f"{better}, or ship another variant",
            )


def _sees(manifest: Mapping[str, Any]) -> bool:
    return manifest.get("task") == "image-classification"


def _unmeasured(manifest: Mapping[str, Any], _: Facts) -> Said:
    measured = {name: "texts" in each.get("agreement", {}) for name, each in manifest["variants"].items()}
    named = [name for name in measured if name != "fp32" and not measured[name]]
    pictures = "Compare it with fp32 on pictures of your own: edgeinfer evaluate has texts only"
    if named:
        yield (
            f"The quality of {', '.join(named)} was not measured on {'pictures' if _sees(manifest) else 'texts'}",
            "A few golden samples show that a file works, not how well",
            pictures if _sees(manifest) else "Run edgeinfer evaluate FOLDER --texts FILE --write on texts of your own",
        )


def _model_type(_: Mapping[str, Any], facts: Facts) -> Said:
    if facts.config is None or facts.config.get("model_type"):
        return
    named = " and ".join(map(str, facts.config.get("architectures") or ()))
    yield (
        "config.json has no model_type",
        "transformers.js refuses such a folder (Unsupported model type); this package does not need it",
        f"Add what transformers calls the family{f' of {named}' if named else ''} to the source's config.json "
        '("model_type": "bert", "distilbert", "roberta", "mpnet", ...), or give one with --config, and pack again',
    )


_RULES = (
    _first_visit,
    _host_files,
    _memory,
    _bindings,
    _int64,
    _not_finite,
    _parameters,
    _quality,
    _unmeasured,
    _model_type,
)
