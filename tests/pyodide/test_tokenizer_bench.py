"""`edgeinfer bench tokenizers` measures both implementations in one page: a line of JSON for each tokenizer."""

from __future__ import annotations

import json

import pytest

from edgeinfer_browser.cli import main
from tests.conformance.real import evaluation_texts


def test_a_line_for_each_tokenizer(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluation_texts()  # the texts are here
    assert main(["bench", "tokenizers", "--only", "minilm", "gpt2", "--rounds", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["tokenizer"] for line in lines] == ["minilm", "gpt2"]
    for line in lines:
        assert line["ratio"] > 0
        assert line["peer"] == "@huggingface/tokenizers 0.2.0"
        assert line["cold_ours_ms"] > 0
