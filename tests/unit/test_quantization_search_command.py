"""`edgeinfer quantize` on a bare file: what it writes, and that it writes nothing when it refuses."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from edgeinfer_browser.cli import main
from edgeinfer_browser.quantization import channel_search
from tests.outlier_encoder import encoder
from tests.unit.fakes import TOKENIZER


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(channel_search, "STRENGTHS", (0.5,))
    monkeypatch.setattr(channel_search, "OUTLIERS", ())
    monkeypatch.chdir(tmp_path)
    onnx.save(encoder(layers=1), tmp_path / "model.onnx")
    (tmp_path / "tokenizer.json").write_bytes(TOKENIZER)
    (tmp_path / "texts.txt").write_text("good film\nbad film\nthe film\ngreat\n")
    return tmp_path


def quantize(*words: str) -> int:
    return main(["quantize", "model.onnx", "out.onnx", *words])


def search(target: str, *words: str) -> int:
    return quantize("--target", target, "--calibration", "texts.txt", "--tokenizer", "tokenizer.json", *words)


def test_a_search_writes_the_file_its_log_and_a_recipe_that_makes_the_file_again(folder: Path) -> None:
    assert search("cosine=0.9", "--save-recipe", "recipe.json", "--log", "log.jsonl") == 0
    assert (folder / "log.jsonl").read_text().count("\n") > 5
    first = (folder / "out.onnx").read_bytes()
    assert quantize("--recipe", "recipe.json") == 0
    assert (folder / "out.onnx").read_bytes() == first


def test_a_target_out_of_reach_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert search("cosine=1", "--max-mb", "0.001", "--save-recipe", "recipe.json") == 1
    assert "TargetError: No int8 file reaches the target" in capsys.readouterr().err
    assert not (folder / "out.onnx").exists()
    assert not (folder / "recipe.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "int8"], "Unknown quantization method"),
        (["--method", "int8-dynamic", "--option", "per_channel"], "has no value"),
        (["--target", "cosine=0.9", "--tokenizer", "tokenizer.json", "--calibration", "one.txt"], "there is one"),
        (["--target", "cosine=0.9", "--calibration", "texts.txt"], "--tokenizer"),
    ],
)
def test_bad_input_is_refused(words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.txt").write_text("good film\n")
    assert quantize(*words) == 1
    assert message in capsys.readouterr().err
    assert not (folder / "out.onnx").exists()
