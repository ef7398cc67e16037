"""WASM memory of a session: weights in external data cost it once, inside the .onnx file more than twice."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
import pytest

from edgeinfer_browser.headless.session import web_sessions
from edgeinfer_browser.policy import WASM_GRAPH_FACTOR, WASM_RUNTIME_BYTES
from tests.browser.conftest import SENTIMENT

EXTERNAL = ("model_quantized.onnx", "model_quantized.onnx_data")
SINGLE = ("single.onnx",)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """Bytes of the files and of WASM memory, for the same int8 model in external data and in one file."""
    folder = tmp_path_factory.mktemp("memory")
    for name in EXTERNAL:
        shutil.copyfile(SENTIMENT / "onnx" / name, folder / name)
    onnx.save(onnx.load(folder / EXTERNAL[0]), folder / SINGLE[0])
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        return pool.submit(_memory, folder).result(timeout=300)


def _memory(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    with web_sessions(folder) as web:
        for name, files in (("external", EXTERNAL), ("single", SINGLE)):
            with web.create(files, "wasm") as session:
                assert session.execution_provider == "wasm"
                found[name] = sum((folder / file).stat().st_size for file in files), session.wasm_bytes
    return found


def test_external_data_takes_at_most_six_tenths_of_the_memory_of_one_file(loaded: dict[str, tuple[int, int]]) -> None:
    external, single = loaded["external"][1], loaded["single"][1]
    print(
        f"\nWASM memory after loading int8: {external / 1e6:.1f} MB from external data, {single / 1e6:.1f} MB from one "
        f"file: {external / single:.2f}x"
    )
    assert loaded["external"][0] == pytest.approx(loaded["single"][0], rel=0.01)
    assert external <= 0.6 * single


@pytest.mark.parametrize(("name", "copies"), [("external", 1.0), ("single", WASM_GRAPH_FACTOR)])
def test_the_memory_that_advice_reckons_with_is_what_a_session_takes(
    loaded: dict[str, tuple[int, int]], name: str, copies: float
) -> None:
    size, measured = loaded[name]
    assert measured == pytest.approx(WASM_RUNTIME_BYTES + copies * size, rel=0.15)
