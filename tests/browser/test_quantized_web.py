"""Quantized MiniLMs in the browser: each runs, says what native ONNX Runtime says, and nearly what float32 says.

One browser runs them all, in a thread of its own: the fixtures of other tests keep Playwright in this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Browser

from edgeinfer_browser.headless.page import find_runtime, site_folder
from edgeinfer_browser.headless.serving import serving_files
from edgeinfer_browser.headless.session import WebSessions, web_sessions
from edgeinfer_browser.manifest import EMBEDDING
from edgeinfer_browser.packing.files import save
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization.recipes import quantize
from tests.quantizable import text_encoder, text_feeds
from tests.quantized_minilm import cosines, embeddings, feeds, model, variant

TEXTS = 30
Embeddings = npt.NDArray[np.float32]


class Case(NamedTuple):
    """A variant; the least mean cosine of the browser's embeddings to native ones, and to float32.

    Integer kernels round by instruction set: where a value falls on the other side of a step, all that follows moves.
    """

    method: str
    options: Mapping[str, str]
    native: float
    fp32: float


CASES = [
    Case("fp16", {}, 0.99999, 0.9999),
    Case("int8-dynamic", {}, 0.999, 0.989),
    Case("int8-static", {}, 0.998, 0.983),
    Case("int8-weights-rtn", {}, 0.99999, 0.999),
    Case("int4-weights-rtn", {}, 0.99999, 0.96),
    Case("int4-weights-rtn", {"embeddings": "int4"}, 0.99999, 0.955),
    Case("int4-weights-k-quant", {}, 0.99999, 0.96),
    Case("int4-weights-rtn-fp16", {}, 0.99999, 0.96),
]
NAMES = [" ".join([case.method, *case.options.values()]) for case in CASES]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Embeddings, Embeddings]]:
    """The embeddings of each case, native and in WASM."""
    folder = tmp_path_factory.mktemp("quantized")
    files = {
        name: save(variant(case.method, **case.options), folder / f"{number}.onnx")
        for number, (name, case) in enumerate(zip(NAMES, CASES, strict=True))
    }
    native = {name: embeddings(paths[0], TEXTS) for name, paths in files.items()}
    with ThreadPoolExecutor(1) as pool:
        web = pool.submit(_in_browser, folder, files).result(timeout=500)
    return {name: (native[name], web[name]) for name in files}


def _in_browser(folder: Path, files: Mapping[str, list[Path]]) -> dict[str, Embeddings]:
    with web_sessions(folder) as web:
        return {name: _embedded(web, [path.name for path in paths]) for name, paths in files.items()}


def _embedded(web: WebSessions, files: list[str]) -> Embeddings:
    with web.create(files, "wasm") as session:
        return np.concatenate([session.run(feed)[EMBEDDING] for feed in feeds("evaluation", TEXTS)])


@pytest.mark.parametrize(("name", "case"), list(zip(NAMES, CASES, strict=True)), ids=NAMES)
def test_a_variant_runs_in_wasm_and_agrees_with_native_and_with_float32(
    name: str, case: Case, answered: dict[str, tuple[Embeddings, Embeddings]]
) -> None:
    native, web = answered[name]
    to_native, to_fp32 = cosines(web, native).mean(), cosines(web, embeddings(model(), TEXTS)).mean()
    print(f"{name}: WASM to native {to_native:.6f} (worst {cosines(web, native).min():.6f}), to fp32 {to_fp32:.5f}")
    assert web.shape == native.shape
    assert to_native >= case.native
    assert to_fp32 >= case.fp32


@pytest.fixture(scope="module")
def firefox_sessions(firefox: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, WebSessions]]:
    """A folder and what makes sessions of its files in Firefox, whose WebGPU adapter has shader-f16."""
    folder = tmp_path_factory.mktemp("webgpu")
    with site_folder({"edgeinfer": find_runtime(None), "files": folder}) as site, serving_files(site) as url:
        page = firefox.new_page()
        page.set_default_timeout(180_000)
        page.goto(url)
        yield folder, WebSessions(page)
        page.close()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("fp16", {}),
        ("int8-dynamic", {}),
        ("int8-weights-rtn", {}),
        ("int4-weights-rtn", {}),
        ("int4-weights-rtn", {"embeddings": "int4"}),
        ("int4-weights-rtn-fp16", {}),
        ("int4-weights-rtn-fp16", {"embeddings": "int4"}),
    ],
)
def test_a_variant_runs_on_webgpu_in_firefox_and_agrees_with_native(
    method: str, options: dict[str, str], firefox_sessions: tuple[Path, WebSessions]
) -> None:
    folder, web = firefox_sessions
    made = quantize(text_encoder(), method, calibration=text_feeds(8, seed=1), **options)
    files = save(made, folder / f"{method}-{'-'.join(options.values())}.onnx")
    evaluation = text_feeds(8, seed=2)
    native = np.concatenate([each[EMBEDDING] for each in answers(open_session(files[0]), evaluation)])
    with web.create([path.name for path in files], "webgpu") as session:
        assert session.execution_provider == "webgpu"
        mine = np.concatenate([session.run(feed)[EMBEDDING] for feed in evaluation])
    assert cosines(mine, native).min() >= 0.999
