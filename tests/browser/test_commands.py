"""The commands that drive a browser themselves, run as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.browser.conftest import ROOT

MODEL = "build/models/sentiment"


def _edgeinfer(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edgeinfer_browser.cli", *words]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, timeout=300)


def _lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("tier", "answered"), [("auto", "wasm"), ("wasm", "wasm"), ("api", "api")])
def test_run_prints_a_line_for_each_text_from_the_tier_it_names(tier: str, answered: str) -> None:
    done = _edgeinfer(
        "run", "--task", "text-classification", "--model", MODEL, "--tier", tier, "I love it", "I hate it"
    )
    first, second = _lines(done)
    assert (first["tier"], second["tier"]) == (answered, answered)
    assert (first["label"], second["label"]) == ("positive", "negative")
    assert set(first) == {"tier", "dtype", "label", "score", "latency_ms"}


def test_run_explains_the_choice_and_gives_all_labels() -> None:
    words = ["--task", "text-classification", "--model", MODEL, "--top-k", "0", "--explain"]
    (line,) = _lines(_edgeinfer("run", *words, "fine"))
    assert line["tier"] == "wasm"
    assert len(line["labels"]) == 2
    assert any("software" in attempt["reason"] for attempt in line["attempts"])


def test_run_on_a_folder_that_is_no_model_says_what_to_do() -> None:
    done = _edgeinfer("run", "--task", "text-classification", "--model", "demo", "hello")
    assert done.returncode == 1
    assert "edgeinfer pack" in done.stderr
    assert "Traceback" not in done.stderr


def test_bench_latency_prints_the_ratios_of_paired_runs() -> None:
    (line,) = _lines(_edgeinfer("bench", "latency", "--pairs", "5"))
    assert (line["tier"], line["dtype"], line["tokens"], line["pairs"]) == ("wasm", "q8", 32, 5)
    assert line["call_ratio"] > 0
    assert line["js_session_run_ms"] > 0


def test_an_unknown_command_lists_the_commands() -> None:
    done = _edgeinfer("serv")
    assert done.returncode == 2
    assert "serve" in done.stdout
