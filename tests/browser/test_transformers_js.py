"""Packed folders load in transformers.js, and it gives what we give: same files, another reader.

Everything comes from loopback: the library and its ONNX Runtime out of node_modules, the models out of a folder.
"""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from edgeinfer_browser import pipeline
from edgeinfer_browser.headless.serving import serving_files
from edgeinfer_browser.tokenizers import model_tokenizer
from tests.browser.conftest import ROOT, SENTIMENT

LIBRARY = ROOT / "node_modules/@huggingface/transformers"
ORT = LIBRARY / "node_modules/onnxruntime-web/dist"
VERSION = json.loads((LIBRARY / "package.json").read_text())["version"]
MINILM = ROOT / ".cache/sources/minilm"

#: Short, long, not ASCII, and empty. Longer than the model takes is another matter: transformers.js cuts the closing
#: [SEP] off too, which the model has never seen, and which Rust tokenizers and we keep.
TEXTS = (
    "I love it",
    "The plot drags, the jokes fall flat, and yet the ending won me over.",
    "a dull and lifeless film " * 24,
    "Ein schöner Tag in Zürich – naïve façade, 東京, ☕!",
    "",
)

_LIBRARY = """async () => {
  const library = await import(new URL("transformers.js", document.baseURI).href);
  const { env } = library;
  env.allowLocalModels = true;
  env.allowRemoteModels = false;
  env.localModelPath = "/models/";
  env.useBrowserCache = false;
  env.backends.onnx.wasm.wasmPaths = new URL("ort/", document.baseURI).href;
  env.backends.onnx.wasm.numThreads = 1;
  globalThis.transformers = library;
  return env.version;
}"""

_CLASSIFY = """async ({ model, dtype, texts }) => {
  const classify = await transformers.pipeline("text-classification", model, { dtype, device: "wasm" });
  const labels = [];
  for (const text of texts) labels.push(await classify(text, { top_k: null }));
  await classify.dispose();
  return labels;
}"""

#: AutoModel gives what the graph gives, pooled and normalised.
_EMBED = """async ({ model, dtype, texts }) => {
  const { AutoModel, AutoTokenizer } = transformers;
  const tokenizer = await AutoTokenizer.from_pretrained(model);
  const encoder = await AutoModel.from_pretrained(model, { dtype, device: "wasm" });
  const embeddings = [];
  for (const text of texts) {
    const { sentence_embedding } = await encoder(tokenizer(text, { truncation: true }));
    embeddings.push(sentence_embedding.tolist()[0]);
  }
  await encoder.dispose();
  return embeddings;
}"""

#: Its own pipeline and its own pooling of the vectors of the tokens, one text at a time: int8 scales activations by
#: what is in a batch.
_POOL = """async ({ model, dtype, texts }) => {
  const extract = await transformers.pipeline("feature-extraction", model, { dtype, device: "wasm" });
  const embeddings = [];
  for (const text of texts) {
    const embedding = await extract(text, { pooling: "mean", normalize: true });
    embeddings.push(embedding.tolist()[0]);
  }
  await extract.dispose();
  return embeddings;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with transformers.js, its runtime, and packed models; MiniLM's weights are split into files of 10 MiB."""
    made = tmp_path_factory.mktemp("transformers")
    (made / "index.html").write_text('<!doctype html><title>transformers.js</title><link rel="icon" href="data:,">')
    (made / "transformers.js").symlink_to(LIBRARY / "dist/transformers.min.js")
    (made / "ort").symlink_to(ORT, target_is_directory=True)
    (made / "models").mkdir()
    (made / "models/sentiment").symlink_to(SENTIMENT, target_is_directory=True)
    pack_minilm(made / "models/minilm", "--dtypes", "fp32,q8", "--split-mb", "10")
    pack_minilm(made / "models/minilm-tokens", "--dtypes", "fp32", "--pooling", "none")
    return made


def pack_minilm(out: Path, *options: str) -> None:
    """Pack all-MiniLM-L6-v2 for feature extraction."""
    command = [sys.executable, "-m", "edgeinfer_browser.cli", "pack", str(MINILM), str(out)]
    fixed = ["--task", "feature-extraction", "--skip-browser-check"]
    subprocess.run([*command, *fixed, *options], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def page(chromium_without_adapter: Browser, folder: Path) -> Iterator[Page]:
    """A page with transformers.js loaded, that asked nobody but loopback by the time the test ends."""
    with serving_files(folder) as url:
        context = chromium_without_adapter.new_context()
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        made = context.new_page()
        made.goto(url)
        assert made.evaluate(_LIBRARY) == VERSION
        yield made
        context.close()
    strangers = [address for address in asked if urlsplit(address).hostname not in ("127.0.0.1", None)]
    assert strangers == []
    assert any(address.endswith("/transformers.js") for address in asked)


def natively(task: str, model: Path, dtype: str, **options: Any) -> list[Any]:
    """What our pipeline answers on CPython; in a thread, as Playwright has an event loop running in this one."""

    async def run() -> list[Any]:
        pipe = await pipeline(task, model=str(model), dtype=dtype)
        answers = await pipe(list(TEXTS), **options)
        await pipe.close()
        return list(answers)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, run()).result()


@pytest.mark.parametrize(("dtype", "room"), [("fp32", 1e-4), ("q8", 0.02)])
def test_the_sentiment_model_gives_the_same_labels_and_scores(
    page: Page, folder: Path, dtype: str, room: float
) -> None:
    theirs = page.evaluate(_CLASSIFY, {"model": "sentiment", "dtype": dtype, "texts": TEXTS})
    ours = natively("text-classification", folder / "models/sentiment", dtype, top_k=None)
    for text, their, our in zip(TEXTS, theirs, ours, strict=True):
        scores = {each["label"]: each["score"] for each in their}
        assert scores == pytest.approx({each["label"]: each["score"] for each in our}, abs=room), text[:40]


@pytest.mark.parametrize("way", [_EMBED, _POOL], ids=["AutoModel", "pipeline"])
@pytest.mark.parametrize(("dtype", "cosine"), [("fp32", 0.99999), ("q8", 0.995)])
def test_an_encoder_in_many_files_gives_the_same_embeddings(
    page: Page, folder: Path, way: str, dtype: str, cosine: float
) -> None:
    config = json.loads((folder / "models/minilm/config.json").read_text())
    files = config["transformers.js_config"]["use_external_data_format"]
    assert files["model_quantized.onnx"] > 1
    theirs = page.evaluate(way, {"model": "minilm", "dtype": dtype, "texts": TEXTS})
    ours = natively("feature-extraction", folder / "models/minilm", dtype)
    for text, their, our in zip(TEXTS, theirs, ours, strict=True):
        assert math.hypot(*their) == pytest.approx(1, abs=1e-4)
        assert sum(a * b for a, b in zip(their, our, strict=True)) > cosine, text[:40]


def test_a_folder_packed_without_pooling_is_pooled_outside_the_graph_by_both(page: Page, folder: Path) -> None:
    theirs = page.evaluate(_POOL, {"model": "minilm-tokens", "dtype": "fp32", "texts": TEXTS})
    ours = natively("feature-extraction", folder / "models/minilm-tokens", "fp32")
    in_graph = natively("feature-extraction", folder / "models/minilm", "fp32")
    for text, their, our, pooled in zip(TEXTS, theirs, ours, in_graph, strict=True):
        assert our == pytest.approx(their, abs=1e-5), text[:40]
        assert our == pytest.approx(pooled, abs=1e-5), text[:40]


def test_a_text_beyond_the_limit_loses_its_closing_token_in_transformers_js_alone(page: Page, folder: Path) -> None:
    ids = page.evaluate(
        """async (text) => {
          const tokenizer = await transformers.AutoTokenizer.from_pretrained("minilm");
          return Array.from(tokenizer(text, { truncation: true }).input_ids.data, Number);
        }""",
        "film " * 1000,
    )
    ours = model_tokenizer((folder / "models/minilm/tokenizer.json").read_bytes(), 128).encode("film " * 1000).ids
    assert len(ids) == len(ours) == 128
    assert (ids[:-1], ids[-1]) == (list(ours[:-1]), ours[1])
    assert ours[-1] == 102
