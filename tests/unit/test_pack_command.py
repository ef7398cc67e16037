"""edgeinfer pack: its options, the variants it makes by default, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto

from edgeinfer_browser.cli import main
from edgeinfer_browser.packing.pooling import POOLING_SCOPE
from edgeinfer_browser.packing.texts import digest_of
from tests import tiny_encoder


def run(source: Path, out: Path, *options: str) -> int:
    return main(["pack", str(source), str(out), "--skip-browser-check", *options])


def manifest(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "edgeinfer.json").read_text())
    return read


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tiny_encoder.write(tmp_path / "source")


def test_by_default_there_are_fp32_fp16_and_q8(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(source, out, "--task", "feature-extraction", "--license", "MIT", "--attribution", "A. Author") == 0
    variants = manifest(out)["variants"]
    assert {dtype: variant["features"] for dtype, variant in variants.items()} == {
        "fp32": [],
        "fp16": ["shader-f16"],
        "q8": [],
    }
    assert variants["fp16"]["method"].startswith("fp16")
    assert variants["q8"]["method"].startswith("int8-dynamic")
    assert 0 < variants["fp16"]["agreement"]["max_abs_difference"] < 0.01
    assert (manifest(out)["license"], manifest(out)["attribution"]) == ("MIT", ["A. Author"])
    said = capsys.readouterr().out
    assert "not checked in a browser" in said
    assert "wasm    q8" in said


def test_pooling_is_float32_in_an_fp16_model(source: Path, tmp_path: Path) -> None:
    assert run(source, tmp_path / "out", "--task", "feature-extraction", "--dtypes", "fp32,fp16") == 0
    graph = onnx.load(str(tmp_path / "out/onnx/model_fp16.onnx")).graph
    weights = {tensor.name: tensor.data_type for tensor in graph.initializer}
    assert weights["words"] == TensorProto.FLOAT16
    assert weights[f"{POOLING_SCOPE}shortest"] == TensorProto.FLOAT
    made_by = {name: node for node in graph.node for name in node.output}
    means = next(node for node in graph.node if node.name == f"{POOLING_SCOPE}means")
    cast = made_by[means.input[1]]
    assert (cast.op_type, cast.attribute[0].i) == ("Cast", TensorProto.FLOAT)
    assert graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT


def test_texts_of_the_calibration_are_remembered(source: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("good film\nbad film\n")
    words = ("--task", "feature-extraction", "--dtypes", "fp16", "--calibration", str(tmp_path / "texts.txt"))
    assert run(source, tmp_path / "out", *words) == 0
    digests = sorted(map(digest_of, ("good film", "bad film")))
    assert manifest(tmp_path / "out")["calibration"] == {"texts": 2, "digests": digests}
    assert list(manifest(tmp_path / "out")["variants"]) == ["fp16"]


def test_labels_and_the_old_name_of_the_task(tmp_path: Path) -> None:
    source = tiny_encoder.write(tmp_path / "source", tiny_encoder.with_scores("Softmax"))
    assert run(source, tmp_path / "out", "--task", "sentiment-analysis", "--labels", "no, yes", "--dtypes", "fp32") == 0
    assert (manifest(tmp_path / "out")["task"], manifest(tmp_path / "out")["labels"]) == (
        "text-classification",
        ["no", "yes"],
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--dtypes", "fp32,q3"), "UnknownNameError: Unknown dtype 'q3'. Known: fp16, fp32, q4, q4f16, q8."),
        (("--dtypes", "fp32", "--quantization", "recipe.json"), "InputError: --quantization is a recipe for q8"),
        (("--config", "absent.json"), "InputError: There is no absent.json (--config)."),
        (("--calibration", "absent.txt"), "InputError: absent.txt cannot be read"),
        (("--quantization", "absent.json"), "InputError: absent.json cannot be read as a quantization recipe"),
    ],
)
def test_what_it_refuses(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    assert run(source, tmp_path / "out", "--task", "feature-extraction", *options) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
