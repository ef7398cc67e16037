"""`edgeinfer bench tokenizers` measures both implementations in one page: a line of JSON for each tokenizer."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.browser.conftest import ROOT
from tests.conformance.real import evaluation_texts


def test_a_line_for_each_tokenizer() -> None:
    assert evaluation_texts()  # the texts are here
    words = ["bench", "tokenizers", "--only", "minilm", "gpt2", "--rounds", "1"]
    command = [sys.executable, "-m", "edgeinfer_browser.cli", *words]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["tokenizer"] for line in lines] == ["minilm", "gpt2"]
    for line in lines:
        assert line["ratio"] > 0
        assert line["peer"] == "@huggingface/tokenizers 0.2.0"
        assert line["cold_ours_ms"] > 0
