"""Hugging Face folders that nobody packed, as they are found, in Chromium and on CPython alike."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.external_data_helper import set_external_data

from edgeinfer_browser import pipeline
from tests import tiny_model
from tests.browser.client import Client, tried
from tests.browser.conftest import ROOT

MINILM = ROOT / ".cache/sources/minilm"
LABELS = {"id2label": {"0": "negative", "1": "positive"}}
TEXTS = ["a good film", "the awful film", ""]


def at_the_top(folder: Path) -> dict[str, Any]:
    """As optimum writes it: model.onnx beside config.json, and labels that only have numbers."""
    onnx.save(tiny_model.graph(), folder / "model.onnx")
    return {"num_labels": 2, "problem_type": None}


def data_without_a_word(folder: Path) -> dict[str, Any]:
    """External data that no configuration names."""
    save_with_data(folder / "onnx/model.onnx", ["model.onnx_data"])
    return {**LABELS, "max_position_embeddings": 32}


def data_in_pieces(folder: Path) -> dict[str, Any]:
    """External data in two files, as transformers.js numbers them; the first dtype that WASM likes is not there."""
    save_with_data(folder / "onnx/model_q4.onnx", ["model_q4.onnx_data", "model_q4.onnx_data_1"])
    return {**LABELS, "transformers.js_config": {"use_external_data_format": {"model_q4.onnx": 2, "model.onnx": True}}}


def data_everywhere(folder: Path) -> dict[str, Any]:
    """``use_external_data_format: true``, and a tokenizer without a limit."""
    save_with_data(folder / "onnx/model_quantized.onnx", ["model_quantized.onnx_data"])
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    return {**LABELS, "transformers.js_config": {"use_external_data_format": True}}


FOLDERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    made.__name__: made for made in (at_the_top, data_without_a_word, data_in_pieces, data_everywhere)
}
#: What there is, by dtype; a browser tries q8, q4 and fp32 in this order, CPython q8, fp32 and q4.
DTYPES = {"at_the_top": "fp32", "data_without_a_word": "fp32", "data_in_pieces": "q4", "data_everywhere": "q8"}


def save_with_data(path: Path, names: list[str]) -> None:
    """The tiny graph with its two float weights in the named files, in turn."""
    model = tiny_model.graph()
    kept = dict.fromkeys(names, b"")
    weights = [tensor for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT]
    for tensor, name in zip(weights, names * 2, strict=False):
        set_external_data(tensor, name, offset=len(kept[name]), length=len(tensor.raw_data))
        kept[name] += tensor.raw_data
        tensor.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())
    for name, data in kept.items():
        (path.parent / name).write_bytes(data)


@pytest.fixture(scope="module")
def folders(models: Path) -> dict[str, Path]:
    """The folders, served with the other models."""
    made = {}
    for name, make in FOLDERS.items():
        made[name] = models / name
        (made[name] / "onnx").mkdir(parents=True)
        (made[name] / "config.json").write_text(json.dumps({"model_type": "bert", **make(made[name])}))
        (made[name] / "tokenizer.json").write_text(json.dumps(tiny_model.tokenizer()))
    return made


def on_cpython(task: str, model: Path, texts: list[str], **options: Any) -> tuple[Any, dict[str, Any]]:
    """(answers, info) of the same pipeline here; in a thread, as Playwright has an event loop running in this one."""

    async def run() -> tuple[Any, dict[str, Any]]:
        pipe = await pipeline(task, model=str(model), **options)
        answers = await pipe(texts)
        info = pipe.info.to_json()
        await pipe.close()
        return answers, info

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, run()).result()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_plain_folder_classifies_in_the_browser_and_on_cpython(
    client: Client, folders: dict[str, Path], name: str
) -> None:
    info = client.load(name, tier="wasm", api=None)
    assert (info["tier"], info["dtype"]) == ("wasm", DTYPES[name])
    labels, _ = client.call(TEXTS)
    native, native_info = on_cpython("text-classification", folders[name], TEXTS)
    assert (native_info["tier"], native_info["dtype"]) == ("native", DTYPES[name])
    names = ["LABEL_1", "LABEL_0"] if name == "at_the_top" else ["positive", "negative"]
    assert [each[0]["label"] for each in labels[:2]] == [each[0]["label"] for each in native[:2]] == names
    for ours, theirs in zip(labels, native, strict=True):
        assert ours[0]["score"] == pytest.approx(theirs[0]["score"], abs=1e-6)
    for told in (info, native_info):
        assert (told["packed"], told["revision"]) == (False, "")
        assert "not verified" in told["notes"][0]


def test_each_dtype_that_is_not_there_is_an_attempt_with_its_reason(client: Client, folders: dict[str, Path]) -> None:
    info = client.load("at_the_top", tier="wasm", api=None)
    reasons = {attempt["dtype"]: attempt["reason"] for attempt in info["attempts"] if not attempt["ok"]}
    assert list(reasons) == ["q8", "q4"]
    assert "at_the_top/onnx/model_quantized.onnx" in reasons["q8"]
    assert "at_the_top/model_quantized.onnx" in reasons["q8"]
    _, native = on_cpython("text-classification", folders["at_the_top"], TEXTS)
    assert "model_quantized.onnx" in tried(native, "native")


@pytest.fixture(scope="module")
def minilm(models: Path) -> Path:
    """all-MiniLM-L6-v2 as it is published: the graph gives a vector for each token."""
    folder = models / "plain-minilm"
    folder.mkdir()
    for name in ("onnx", "tokenizer.json"):
        (folder / name).symlink_to(MINILM / name)
    config = {"model_type": "bert", "max_position_embeddings": 512, "architectures": ["BertModel"]}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_plain_folder_gives_embeddings_in_the_browser_and_on_cpython(client: Client, minilm: Path) -> None:
    info = client.load("plain-minilm", task="feature-extraction", tier="wasm", dtype="fp32", api=None)
    assert (info["tier"], info["dtype"], info["packed"]) == ("wasm", "fp32", False)
    texts = ["A cat sleeps.", "The feline is asleep.", "Stocks fell on Monday."]
    embeddings, _ = client.call(texts)
    native, native_info = on_cpython("feature-extraction", minilm, texts, dtype="fp32")
    assert native_info["dtype"] == "fp32"
    for ours, theirs in zip(embeddings, native, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
        assert math.hypot(*ours) == pytest.approx(1, abs=1e-5)
    cat, feline, stocks = embeddings
    assert _cosine(cat, feline) > 0.5 > 0.3 > _cosine(cat, stocks)
    assert any("mean" in note for note in info["notes"])


def _cosine(left: list[float], right: list[float]) -> float:
    """Of vectors of length 1."""
    return sum(a * b for a, b in zip(left, right, strict=True))
