"""Weights that are stored as float16 and cast while loading run on WebGPU adapters that lack shader-f16."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import numpy_helper, parser

from edgeinfer_browser.headless.session import web_sessions
from edgeinfer_browser.packing.written import write_variant

WIDTH = 256


def test_a_half_precision_weight_needs_no_shader_f16_when_it_is_cast_at_load(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    weight, x = random.normal(size=(WIDTH, WIDTH)).astype(np.float16), random.normal(size=(3, WIDTH)).astype(np.float32)
    model = parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 19]> g (float[n, {WIDTH}] x) => (float[n, {WIDTH}] y) '
        "{ wide = Cast <to = 1> (w) y = MatMul (x, wide) }"
    )
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    written = write_variant(tmp_path, "q8", model, "by hand")
    assert written.features == ()
    assert len(written.files) == 2
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        features, y = pool.submit(on_webgpu, tmp_path, written.files, x).result(timeout=120)
    assert "shader-f16" not in features
    assert np.allclose(y, x @ weight.astype(np.float32), atol=1e-3)


def on_webgpu(folder: Path, files: tuple[str, ...], x: npt.NDArray[np.float32]) -> tuple[list[str], npt.NDArray[Any]]:
    """The adapter's features, and what the model answers there."""
    with web_sessions(folder) as web, web.create(files, "webgpu") as session:
        assert session.execution_provider == "webgpu"
        features = web.page.evaluate("async () => [...(await navigator.gpu.requestAdapter()).features]")
        return features, session.run({"x": x})["y"]
