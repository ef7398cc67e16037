"""Proof before trust: a tier's first runs are golden samples, and its answers must be native ONNX Runtime's.

Warm-up and proof are one. Each tier runs the first sample, which is short. WebGPU runs one of more than
:data:`SHORT_TOKENS` tokens as well, because GPU kernels change with the length: onnxruntime-web 1.30's fused
MultiHeadAttention is exact up to 31 tokens and wrong from 32 on where subgroups are 4 wide. The CPU's kernels do not
change so: there a second sample would only add some 5 % to the time to the first answer (MiniLM in WASM).

The samples and their answers are in the manifest of a packed model; a plain Hugging Face folder has none, so there the
tier is only warmed up by the first request, and ``info.notes`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeinfer_browser.backends.base import Backend, Feeds, require_finite
from edgeinfer_browser.errors import GoldenSampleError
from edgeinfer_browser.manifest import ModelManifest, Variant
from edgeinfer_browser.tensors import Tensor

#: Tokens of a text up to which a GPU may take other kernels than for all longer ones.
SHORT_TOKENS = 32


async def prove(backend: Backend, manifest: ModelManifest) -> None:
    """Run the golden samples that :func:`proofs` names for the tier.

    Raises:
        GoldenSampleError: when an output differs by more than the variant's tolerance.
        RunError: when a run fails, or gives values that are not finite.
    """
    variant = manifest.variants.get(backend.dtype or "")
    if variant is None or not manifest.golden_inputs or not variant.golden_outputs:
        return
    for number in proofs(backend.tier, manifest.golden_inputs):
        outputs = await backend.run(manifest.golden_inputs[number])
        require_finite(outputs, backend.tier)
        _require_agreement(outputs, variant, number, backend.tier, _tokens(manifest.golden_inputs[number]))


def proofs(tier: str, samples: Sequence[Feeds]) -> list[int]:
    """Places of the samples that prove a tier, in the order in which they are run.

    On WebGPU the second is the shortest of more than :data:`SHORT_TOKENS` tokens, or the longest where none has more.
    """
    if tier != "webgpu":
        return [0]
    lengths = [_tokens(feeds) for feeds in samples]
    enough = min((length for length in lengths if length > SHORT_TOKENS), default=max(lengths))
    return sorted({0, lengths.index(enough)})


def _tokens(feeds: Feeds) -> int:
    """Tokens of a text; 0 for what is none: a picture's size is one and the same after the graph's own resizing."""
    ids = feeds.get("input_ids")
    return ids.dims[-1] if ids else 0


def _require_agreement(outputs: Mapping[str, Tensor], variant: Variant, number: int, tier: str, tokens: int) -> None:
    for name, expected in variant.golden_outputs[number].items():
        difference = _largest_difference(outputs, name, expected)
        allowed = variant.tolerance * _largest_value(variant.golden_outputs, name)
        if difference is None or difference > allowed:
            raise GoldenSampleError(
                f"The {tier} tier ({variant.dtype}) disagrees with native ONNX Runtime on a golden sample"
                f"{f' of {tokens} tokens' if tokens else ''}: "
                f"{name!r} differs by {'its shape' if difference is None else format(difference, '.4g')}, "
                f"allowed is {allowed:.4g}.",
                tier=tier,
                dtype=variant.dtype,
                sample=number,
                difference=difference,
                tolerance=allowed,
            )


def _largest_value(golden: Sequence[Mapping[str, Tensor]], name: str) -> float:
    """The output's size: a coordinate of an embedding is a hundred times smaller than a logit. 1 for zeros."""
    return max((abs(value) for outputs in golden for value in outputs[name].values()), default=0.0) or 1.0


def _largest_difference(outputs: Mapping[str, Tensor], name: str, expected: Tensor) -> float | None:
    actual = outputs.get(name)
    if actual is None or actual.dims != expected.dims:
        return None
    return max((abs(a - b) for a, b in zip(actual.values(), expected.values(), strict=True)), default=0.0)
