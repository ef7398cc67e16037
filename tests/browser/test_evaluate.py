"""edgeinfer evaluate on the real sentiment model, in real browsers, as a user runs it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import ROOT

MODEL = "build/models/sentiment"
REVIEWS = {
    "I love it": "positive",
    "A wonderful film, and the children laughed from beginning to end.": "positive",
    "The staff were friendly and the room was spotless.": "positive",
    "Best purchase I have made this year": "positive",
    "I hate it": "negative",
    "A dull, lifeless mess that goes nowhere.": "negative",
    "It broke after two days and nobody answers the phone.": "negative",
    "What a waste of money": "negative",
}


def evaluate(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edgeinfer_browser.cli", "evaluate", MODEL, *words]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, timeout=580)


def write(path: Path, rows: Iterable[tuple[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, Path]:
    """The report, what was printed, and the picture."""
    folder = tmp_path_factory.mktemp("evaluate")
    texts = write(folder / "texts.csv", REVIEWS.items())
    report, picture = folder / "report.json", folder / "quality.svg"
    told = evaluate("--texts", str(texts), "--runs", "2", "--json", str(report), "--picture", str(picture))
    assert told.returncode == 0, told.stderr
    return json.loads(report.read_text("utf-8")), told.stdout, picture


def test_every_tier_answers_and_says_which_it_is(done: tuple[dict[str, Any], str, Path]) -> None:
    report, printed, _ = done
    for dtype, variant in report["variants"].items():
        assert list(variant["tiers"]) == ["native", "wasm", "webgpu"]
        assert "error" not in variant["tiers"]["wasm"], dtype
    assert "error" not in report["variants"]["fp32"]["tiers"]["webgpu"]
    for tier in ("native", "wasm", "webgpu"):
        assert f"\n{tier}: median (p90) in ms" in printed
    assert "Chromium" in report["machine"]["browser"]


def test_the_browser_gives_native_answers_and_its_memory_is_told(done: tuple[dict[str, Any], str, Path]) -> None:
    report, _, _ = done
    fp32, q8 = (report["variants"][dtype]["tiers"]["wasm"] for dtype in ("fp32", "q8"))
    assert fp32["against_native"]["logits"]["max_abs_difference"] < 1e-4
    assert q8["against_native"]["logits"]["same_label"] == 1
    assert q8["texts"] == len(REVIEWS)
    assert 0 < q8["wasm_bytes"]["loaded"] <= q8["wasm_bytes"]["peak"] < fp32["wasm_bytes"]["peak"]
    webgpu = report["variants"]["fp32"]["tiers"]["webgpu"]
    assert webgpu["against_native"]["logits"]["max_abs_difference"] < 1e-2


def test_quality_and_its_warning_about_so_few_texts(done: tuple[dict[str, Any], str, Path]) -> None:
    report, printed, picture = done
    assert report["texts"]["count"] == len(REVIEWS)
    assert report["variants"]["fp32"]["agreement"]["logits"]["same_label"] == 1
    assert report["variants"]["q8"]["accuracy"]["logits"]["accuracy"] > 0.5
    assert report["variants"]["q8"]["accuracy"]["logits"]["majority"] == 0.5
    assert f"warning: Only {len(REVIEWS)} texts" in printed
    assert "<svg" in picture.read_text("utf-8")


def test_the_advice_is_printed(done: tuple[dict[str, Any], str, Path]) -> None:
    report, printed, _ = done
    assert [each["dtype"] for each in report["advice"]["files"] if each["tier"] == "wasm"] == ["q8"]
    assert "\nwasm    q8: " in printed


def test_texts_that_were_calibrated_on_are_refused(tmp_path: Path) -> None:
    texts = write(tmp_path / "texts.csv", REVIEWS.items())
    calibration = tmp_path / "calibration.txt"
    calibration.write_text("Something else.\ni LOVE it!\n", "utf-8")
    told = evaluate("--texts", str(texts), "--calibration", str(calibration))
    assert told.returncode == 1
    assert "InputError" in told.stderr
    assert "used for calibration" in told.stderr
    assert "I love it" in told.stderr
    assert "Traceback" not in told.stderr
