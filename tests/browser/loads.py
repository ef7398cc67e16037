"""Loads, driven from a test: a model whose download has a middle, a page that loads it, and what its caches hold."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from playwright.sync_api import Page

from edgeinfer_browser.manifest import revision_of
from tests.browser.file_server import FileServer

#: The model's file that WASM loads.
GRAPH = "onnx/model_quantized.onnx"
BALLAST = 10_000_000
#: ``SEGMENT_BYTES`` of ``js_shim/received.js``.
SEGMENT = 4 * 2**20

_START = """async (model) => {
  const { load } = await import(new URL("edgeinfer/edgeinfer.js", document.baseURI).href);
  globalThis.events = [];
  const onProgress = (event) => events.push(event);
  const made = load({ task: "text-classification", model, tier: "wasm", onProgress });
  globalThis.loading = made.then((pipeline) => (globalThis.pipeline = pipeline).info);
  loading.catch(() => {});
}"""

_KEYS = """async (name) =>
  (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname + new URL(url).search)"""


def heavy_model(tiny: Path, out: Path, seed: int) -> None:
    """A copy of the tiny model whose file for WASM is heavy; its answers are the tiny one's."""
    manifest = json.loads((tiny / "edgeinfer.json").read_text("utf-8"))
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    for path in manifest["files"]:
        (out / path).write_bytes((tiny / path).read_bytes())
    model = onnx.load(str(tiny / GRAPH))
    ballast = np.random.default_rng(seed).bytes(BALLAST // 2).hex()
    onnx.helper.set_model_props(model, {"ballast": ballast})
    data = model.SerializeToString()
    (out / GRAPH).write_bytes(data)
    variant = manifest["variants"]["q8"]
    (entry,) = variant["files"]
    entry.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    manifest["variants"] = {"q8": variant}
    manifest["revision"] = revision_of(manifest)
    (out / "edgeinfer.json").write_text(json.dumps(manifest), "utf-8")


def start(page: Page, model: str = "models/heavy/") -> None:
    """Begin to load, and do not wait."""
    if page.url == "about:blank":
        page.goto("blank.html")
    page.evaluate(_START, model)


def answers(page: Page) -> dict[str, Any]:
    """``info`` of the pipeline, once it has loaded and given the right answer on WASM."""
    page.evaluate("loading")
    labels = page.evaluate("pipeline('great film')")
    info: dict[str, Any] = page.evaluate("pipeline.info")
    assert info["last"]["tier"] == "wasm"
    assert labels[0]["label"] == "positive"
    return info


def kinds(info: dict[str, Any]) -> list[str]:
    """What was given up."""
    return [notice["kind"] for notice in info["notices"]]


def told(page: Page) -> list[str]:
    """The kinds of the notices that onProgress heard."""
    events: list[dict[str, Any]] = page.evaluate("events")
    return [event["kind"] for event in events if event["stage"] == "notice"]


def cached(page: Page, end: str = GRAPH) -> list[str]:
    """What the cache of whole files has under a path."""
    keys: list[str] = page.evaluate(_KEYS, "edgeinfer-models-v1")
    return [key for key in keys if f"{end}?" in key]


def segments(page: Page) -> int:
    """Segments that are kept of downloads."""
    return len(page.evaluate(_KEYS, "edgeinfer-downloads-v1"))


def wait_for_segments(page: Page, count: int) -> None:
    wait(page, "async () => (await (await caches.open('edgeinfer-downloads-v1')).keys()).length >= argument", count)


def wait(page: Page, condition: str, argument: Any) -> None:
    """Wait for an async condition; Playwright's own wait takes the promise of false for true."""
    pause = "new Promise((resolve) => setTimeout(resolve, 50))"
    page.evaluate(f"async (argument) => {{ while (!(await ({condition})())) await {pause}; }}", argument)


def size_of(server: FileServer) -> int:
    return (server.folder / "models/heavy" / GRAPH).stat().st_size
