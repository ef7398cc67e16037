"""edgeinfer pack of an image model: which variants it makes by default, and what pictures it calibrates on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from PIL import Image

from edgeinfer_browser.cli import main
from edgeinfer_browser.packing.browser_check import feeds_for
from edgeinfer_browser.packing.pictures import LARGEST_SIDE, MOST, read_pictures
from edgeinfer_browser.packing.samples import picture_samples
from tests.image_cases import noise

SETTINGS = {"size": 8, "resample": 2, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A convolution, a mean over the pixels, two labels."""
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[n, 3, 8, 8] pixel_values) => (float[n, 2] logits) {'
        "seen = Conv <kernel_shape = [3, 3]> (pixel_values, w) bent = Relu (seen)"
        " mean = GlobalAveragePool (bent) flat = Flatten (mean) logits = MatMul (flat, v) }"
    )
    random = np.random.default_rng(0)
    for name, shape in (("w", (16, 3, 3, 3)), ("v", (16, 2))):
        model.graph.initializer.append(numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name))
    folder = tmp_path / "source"
    (folder / "onnx").mkdir(parents=True)
    onnx.save(model, folder / "onnx/model.onnx")
    (folder / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "cat", "1": "dog"}}))
    return folder


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(3):
        Image.fromarray(noise(20 + number, 31, number)).save(folder / f"{number}.png")
    (folder / "notes.txt").write_text("no picture")
    return folder


def packed(source: Path, out: Path, *options: str) -> dict[str, Any]:
    assert (
        main(["pack", str(source), str(out), "--task", "image-classification", "--skip-browser-check", *options]) == 0
    )
    read: dict[str, Any] = json.loads((out / "edgeinfer.json").read_text())
    return read


def test_by_default_there_is_no_int8_that_nothing_calibrated(source: Path, tmp_path: Path) -> None:
    assert list(packed(source, tmp_path / "out")["variants"]) == ["fp16", "fp32"]


def test_with_pictures_int8_is_calibrated_on_them(source: Path, pictures: Path, tmp_path: Path) -> None:
    made = packed(source, tmp_path / "out", "--calibration", str(pictures))
    assert list(made["variants"]) == ["fp16", "fp32", "q8"]
    assert made["variants"]["q8"]["method"].startswith("int8-static")
    assert made["variants"]["q8"]["method"].endswith("on 3 pictures")
    graph = onnx.load(str(tmp_path / "out/onnx/model_quantized.onnx")).graph
    assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in graph.node}
    assert "calibration" not in made


def test_int8_that_is_asked_for_without_pictures_is_dynamic(source: Path, tmp_path: Path) -> None:
    made = packed(source, tmp_path / "out", "--dtypes", "fp32,q8")
    assert made["variants"]["q8"]["method"].startswith("int8-dynamic")


def test_pictures_are_upright_rgb_and_not_too_large(tmp_path: Path) -> None:
    turned = Image.new("L", (3000, 20))
    exif = turned.getexif()
    exif[0x0112] = 6  # orientation: turn by 90 degrees
    turned.save(tmp_path / "a.jpg", exif=exif)
    [feed] = read_pictures(tmp_path)
    assert feed["pixels"].dtype == np.uint8
    assert (feed["pixels"].shape[0], feed["pixels"].shape[1], feed["pixels"].shape[3]) == (1, LARGEST_SIDE, 3)


def test_more_pictures_than_are_needed_are_left_unread(tmp_path: Path) -> None:
    for number in range(MOST):
        Image.fromarray(noise(2, 2)).save(tmp_path / f"{number:03}.png")
    (tmp_path / "zzz.png").write_text("damaged, and never read")
    assert len(read_pictures(tmp_path)) == MOST


@pytest.mark.parametrize("what", ["absent", "empty", "damaged"])
def test_what_cannot_be_calibrated_on_is_named(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    folder = tmp_path / what
    if what != "absent":
        folder.mkdir()
    if what == "damaged":
        (folder / "a.png").write_text("no picture")
    words = ["pack", str(source), str(tmp_path / "out"), "--task", "image-classification", "--skip-browser-check"]
    assert main([*words, "--calibration", str(folder)]) == 1
    assert str(folder) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_webgpu_is_checked_with_the_smallest_picture_and_wasm_with_all() -> None:
    feeds = [sample.feeds for sample in picture_samples()]
    assert [feed["pixels"].shape for feed in feeds_for("webgpu", feeds[::-1])] == [(1, 16, 24, 3)]
    assert len(feeds_for("wasm", feeds)) == len(feeds)
