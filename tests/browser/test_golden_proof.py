"""A GPU kernel that computes wrongly is found before it answers anybody, and the next tier answers instead.

The real thing: MiniLM with ONNX Runtime's fused MultiHeadAttention, which onnxruntime-web 1.30 computes rightly on
WebGPU for a few tokens and wrongly from 32 on where subgroups are 4 wide, as SwiftShader's are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from playwright.sync_api import Browser

from edgeinfer_browser import pipeline
from edgeinfer_browser.errors import NoBackendError
from edgeinfer_browser.packing import text_model
from edgeinfer_browser.packing.pack import Options, pack
from tests.browser.client import Client, tried
from tests.browser.conftest import ROOT
from tests.browser.encoders import in_thread

MINILM = ROOT / ".cache/sources/minilm"
NAME = "fused-minilm"
TEXT = "The plot drags, the jokes fall flat, and yet the ending won me over. " * 3

#: Put before the Python worker's script: the adapter does not say that it is a software one, so that it is preferred.
LOOK_LIKE_HARDWARE = """
Object.defineProperty(GPUAdapter.prototype, "info", {
  get: () => ({ vendor: "acme", architecture: "rocket-1", device: "", description: "" }),
});
"""


@pytest.fixture(scope="module")
def fused(models: Path) -> Path:
    """MiniLM packed as it is published, with its attention left fused; served with the other models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_model, "unfused", lambda model, feeds, before: (model, "left fused"))
        pack(MINILM, models / NAME, "feature-extraction", variants={}, options=Options(browser=None))
    graph = onnx.load(models / NAME / "onnx/model.onnx", load_external_data=False).graph
    assert sum(node.op_type == "MultiHeadAttention" for node in graph.node) == 6
    return models / NAME


def test_attention_that_is_wrong_for_longer_texts_is_refused_on_webgpu_and_wasm_answers(
    client: Client, fused: Path, instrument: Callable[[str, str], str]
) -> None:
    runtime = instrument("python_worker.js", LOOK_LIKE_HARDWARE)
    info = client.load(NAME, task="feature-extraction", api=None, runtime=runtime)
    assert info["tier"] == "wasm"
    assert [(each["tier"], each["ok"]) for each in info["attempts"]] == [
        ("api", False),
        ("webgpu", False),
        ("wasm", True),
    ]
    assert "GoldenSampleError" in tried(info, "webgpu")
    assert f"golden sample of {_longer_sample(fused)} tokens" in tried(info, "webgpu")
    embedding, info = client.call(TEXT)
    assert info["last"]["tier"] == "wasm"
    assert embedding == pytest.approx(_native(fused), abs=1e-4)


def test_a_page_that_forces_webgpu_gets_an_error_and_no_wrong_answer(client: Client, fused: Path) -> None:
    with pytest.raises(NoBackendError, match="disagrees with native ONNX Runtime on a golden sample of") as caught:
        client.load(NAME, task="feature-extraction", api=None, tier="webgpu")
    assert [attempt["tier"] for attempt in caught.value.details["attempts"]] == ["webgpu"]


def test_whichever_tier_firefox_trusts_answers_rightly(
    firefox: Browser, site_url: str, fused: Path, instrument: Callable[[str, str], str]
) -> None:
    """Mesa's software adapter has subgroups as wide as the CPU's vectors: on most of them the kernel is right there."""
    runtime = instrument("python_worker.js", LOOK_LIKE_HARDWARE)
    with firefox.new_context(base_url=site_url) as context:
        page = context.new_page()
        page.goto("blank.html")
        client = Client(page)
        info = client.load(NAME, task="feature-extraction", api=None, runtime=runtime)
        assert info["tier"] == "webgpu" or "GoldenSampleError" in tried(info, "webgpu")
        embedding, info = client.call(TEXT)
        print(f"\n{info['last']['tier']} answers in Firefox")
        assert embedding == pytest.approx(_native(fused), abs=1e-4)


def _longer_sample(folder: Path) -> int:
    """Tokens of the shortest golden sample of more than 32."""
    golden = json.loads((folder / "edgeinfer.json").read_text("utf-8"))["golden"]
    lengths: list[int] = [sample["inputs"]["input_ids"]["dims"][1] for sample in golden]
    return min(length for length in lengths if length > 32)


def _native(folder: Path) -> list[float]:
    """The same pipeline's embedding of the text on CPython."""

    async def run() -> list[float]:
        pipe = await pipeline("feature-extraction", model=str(folder))
        embedding: list[float] = await pipe(TEXT)
        await pipe.close()
        return embedding

    found: list[float] = in_thread(run())
    return found
