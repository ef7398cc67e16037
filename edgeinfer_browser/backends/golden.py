"""Proof before trust: a tier's first run is a golden sample, and its answer must be native ONNX Runtime's.

Warm-up and proof are one run. The samples and their answers are in the manifest of a packed model; a plain Hugging
Face folder has none, so there the tier is only warmed up by the first request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeinfer_browser.backends.base import Backend, require_finite
from edgeinfer_browser.errors import GoldenSampleError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.tensors import Tensor


async def prove(backend: Backend, manifest: ModelManifest) -> None:
    """Run the first golden sample.

    Raises:
        GoldenSampleError: when an output differs by more than the variant's tolerance.
        RunError: when the run fails, or gives values that are not finite.
    """
    variant = manifest.variants.get(backend.dtype or "")
    if variant is None or not manifest.golden_inputs or not variant.golden_outputs:
        return
    outputs = await backend.run(manifest.golden_inputs[0])
    require_finite(outputs, backend.tier)
    for name, expected in variant.golden_outputs[0].items():
        difference = _largest_difference(outputs, name, expected)
        allowed = variant.tolerance * _largest_value(variant.golden_outputs, name)
        if difference is None or difference > allowed:
            raise GoldenSampleError(
                f"The {backend.tier} tier ({backend.dtype}) disagrees with native ONNX Runtime on a golden sample: "
                f"{name!r} differs by {'its shape' if difference is None else format(difference, '.4g')}, "
                f"allowed is {allowed:.4g}.",
                tier=backend.tier,
                dtype=backend.dtype,
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
