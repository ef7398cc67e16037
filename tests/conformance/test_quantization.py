"""How much of the real MiniLM is left by each method: mean cosine to float32 over 30 texts it was not calibrated on."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinfer_browser.packing.files import save
from edgeinfer_browser.quantization.float16 import overflow_warnings
from tests.quantized_minilm import cosines, embeddings, feeds, model, variant

TEXTS = 30

#: (method, options) -> least mean cosine, most MB. Measured, less a margin for kernels that round otherwise.
FLOORS: list[tuple[str, dict[str, str], float, float]] = [
    ("fp16", {}, 0.9999, 46),
    ("int8-dynamic", {}, 0.989, 23.5),
    ("int8-static", {}, 0.983, 23.5),
    ("int8-static", {"ranges": "entropy"}, 0.981, 23.5),
    ("int8-static", {"activation_type": "uint16"}, 0.998, 23.5),
    ("int8-weights-rtn", {}, 0.999, 25),
    ("int8-weights-rtn", {"embeddings": "int4"}, 0.997, 21),
    ("int4-weights-rtn", {}, 0.96, 19.5),
    ("int4-weights-rtn", {"embeddings": "int4"}, 0.955, 15),
    ("int4-weights-k-quant", {}, 0.96, 19.5),
    ("int4-weights-rtn-fp16", {}, 0.96, 19),
]


@pytest.mark.parametrize(("method", "options", "floor", "most"), FLOORS)
def test_minilm_keeps_its_meaning_and_shrinks(
    method: str, options: dict[str, str], floor: float, most: float, tmp_path: Path
) -> None:
    files = save(variant(method, **options), tmp_path / "model.onnx")
    assert sum(path.stat().st_size for path in files) / 1e6 <= most
    reached = cosines(embeddings(model(), TEXTS), embeddings(files[0], TEXTS)).mean()
    print(f"{method} {options}: mean cosine {reached:.5f}")
    assert reached >= floor


def test_minilm_has_nothing_that_float16_does_not_hold() -> None:
    assert overflow_warnings(model(), feeds("calibration", 30)) == []
