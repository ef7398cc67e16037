"""MiniLM packed by the command, as a user does it: every variant checked in Chromium, and what it says is so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeinfer_browser.packing.native import answers, feeds_of, open_session
from tests.browser.conftest import ROOT

MINILM = ROOT / ".cache/sources/minilm"
TEXTS = ["a cat sat on the mat", "the feline rested upon the rug", "stock markets fell sharply on Tuesday"]


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``edgeinfer`` in a process of its own: Playwright's sync API has an event loop running in this one."""
    whole = [sys.executable, "-m", "edgeinfer_browser.cli", *words]
    return subprocess.run(
        whole, capture_output=True, text=True, check=False, timeout=900, cwd=ROOT, env={**_environment(), **environment}
    )


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packed") / "minilm"
    done = command("pack", str(MINILM), str(out), "--task", "feature-extraction", "--license", "Apache-2.0")
    assert done.returncode == 0, done.stderr
    assert "browser to native" in done.stdout
    return out


@pytest.fixture(scope="module")
def manifest(packed: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((packed / "edgeinfer.json").read_text())
    return read


def embeddings(packed: Path, manifest: dict[str, Any], path: str) -> np.ndarray[Any, Any]:
    inputs = [entry["name"] for entry in manifest["inputs"]]
    feeds = feeds_of(packed / "tokenizer.json", TEXTS, inputs, manifest["max_length"])
    made = answers(open_session(packed / path), feeds)
    return np.concatenate([outputs["sentence_embedding"] for outputs in made])


def test_every_variant_was_checked_in_the_browser_and_agrees(manifest: dict[str, Any]) -> None:
    assert list(manifest["variants"]) == ["fp16", "fp32", "q8"]
    scale = max(
        abs(value)
        for outputs in manifest["variants"]["fp32"]["golden"]
        for value in outputs["sentence_embedding"]["data"]
    )
    for variant in manifest["variants"].values():
        assert variant["agreement"]["web_max_abs_difference"] * 3 <= variant["tolerance"] * scale * 1.01
        assert not variant["warnings"]
    assert manifest["variants"]["fp32"]["agreement"]["web_max_abs_difference"] < 1e-5


def test_embeddings_are_of_length_one_and_tell_what_is_alike(packed: Path, manifest: dict[str, Any]) -> None:
    for variant in manifest["variants"].values():
        vectors = embeddings(packed, manifest, variant["files"][0]["path"])
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
        alike, other = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
        assert alike > 0.4 > 0.2 > other
        assert vectors.dtype == np.float32


def test_padding_does_not_change_an_embedding(packed: Path, manifest: dict[str, Any]) -> None:
    inputs = [entry["name"] for entry in manifest["inputs"]]
    feeds = feeds_of(packed / "tokenizer.json", TEXTS, inputs, manifest["max_length"])
    longest = max(feed["input_ids"].shape[1] for feed in feeds) + 20
    padded = {
        name: np.concatenate([np.pad(feed[name], ((0, 0), (0, longest - feed[name].shape[1]))) for feed in feeds])
        for name in inputs
    }
    for dtype, allowed in (("fp32", 1e-5), ("fp16", 1e-3)):
        path = manifest["variants"][dtype]["files"][0]["path"]
        together = answers(open_session(packed / path), [padded])[0]["sentence_embedding"]
        assert np.allclose(together, embeddings(packed, manifest, path), atol=allowed)


def test_the_limit_and_the_inputs_are_the_source_s(manifest: dict[str, Any]) -> None:
    assert manifest["max_length"] == 128  # tokenizer.json's truncation
    assert [entry["name"] for entry in manifest["inputs"]] == ["input_ids", "attention_mask"]
    assert manifest["parameters"] > 22_000_000
    assert {len(sample["inputs"]["input_ids"]["data"]) for sample in manifest["golden"]} >= {2, 128}


def test_without_a_browser_it_says_how_to_get_one_and_leaves_nothing(tmp_path: Path) -> None:
    words = ("pack", str(MINILM), str(tmp_path / "out"), "--task", "feature-extraction", "--dtypes", "fp32")
    done = command(*words, "--browser", "/nonexistent/chromium")
    assert done.returncode == 1
    assert "/nonexistent/chromium" in done.stderr
    done = command(*words, EDGEINFER_RUNTIME=str(tmp_path / "nowhere"))
    assert "--skip-browser-check" in done.stderr
    assert "make site" in done.stderr
    assert list(tmp_path.iterdir()) == []
