"""A real image classifier packed by the command, as a user does it, and asked about photographs on each tier."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from sklearn.datasets import load_sample_image

from edgeinfer_browser.headless.session import web_sessions
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.samples import PICTURES as GOLDEN_SIZES
from tests.browser.test_images import OPEN_NSFW, OPEN_NSFW_CONFIG, PICTURES, prepared_by_hand
from tests.browser.test_pack import command

#: dtype -> how far a logit may be from the original graph's; the largest is 8.9.
ALLOWED = {"fp32": 1e-3, "fp16": 0.1, "q8": 1.0}

Logits = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("open_nsfw")
    pictures = write_crops(folder / "pictures")
    source = write_source(folder / "source")
    words = ("pack", str(source), str(folder / "out"), "--task", "image-classification", "--license", "BSD-2-Clause")
    done = command(*words, "--calibration", str(pictures))
    assert done.returncode == 0, done.stderr
    assert "browser to native" in done.stdout
    return folder / "out"


def write_source(folder: Path) -> Path:
    """The classifier as a Hugging Face folder."""
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(OPEN_NSFW, folder / "onnx/model.onnx")
    (folder / "preprocessor_config.json").write_text(json.dumps(OPEN_NSFW_CONFIG))
    (folder / "config.json").write_text(json.dumps({"model_type": "open_nsfw", "id2label": {"0": "sfw", "1": "nsfw"}}))
    return folder


def write_crops(folder: Path) -> Path:
    """Squares of a photograph, of many sizes, to calibrate on."""
    folder.mkdir()
    photograph, random = load_sample_image("flower.jpg"), np.random.default_rng(0)
    for number in range(16):
        side = int(random.integers(96, 427))
        top, left = (int(random.integers(0, full - side + 1)) for full in photograph.shape[:2])
        Image.fromarray(photograph[top : top + side, left : left + side]).save(folder / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def manifest(packed: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((packed / "edgeinfer.json").read_text())
    return read


@pytest.fixture(scope="module")
def by_hand() -> Mapping[str, float]:
    """Picture -> the difference of the two logits, by Pillow, numpy and the original graph, which ends in a Softmax."""
    session = open_session(OPEN_NSFW)
    feeds = [{"input:0": prepared_by_hand(load_sample_image(picture))} for picture in PICTURES]
    scores = [next(iter(outputs.values()))[0].astype(np.float64) for outputs in answers(session, feeds)]
    return {picture: float(np.log(a) - np.log(b)) for picture, (a, b) in zip(PICTURES, scores, strict=True)}


def pixels_of(picture: str) -> dict[str, npt.NDArray[np.uint8]]:
    return {"pixels": load_sample_image(picture)[None]}


def test_the_manifest_says_what_goes_in_and_what_comes_out(manifest: dict[str, Any]) -> None:
    assert manifest["task"] == "image-classification"
    assert [(each["name"], each["dtype"]) for each in manifest["inputs"]] == [("pixels", "uint8")]
    assert [each["name"] for each in manifest["outputs"]] == ["logits"]
    assert manifest["labels"] == ["sfw", "nsfw"]
    assert manifest["preprocessing"] == OPEN_NSFW_CONFIG
    assert 5_000_000 < manifest["parameters"] < 7_000_000


def test_golden_pictures_have_odd_sizes(manifest: dict[str, Any]) -> None:
    dims = [sample["inputs"]["pixels"]["dims"] for sample in manifest["golden"]]
    assert dims == [[1, height, width, 3] for height, width in GOLDEN_SIZES]
    assert any(height % 2 and width % 2 for _, height, width, _ in dims)


def test_every_variant_was_checked_in_the_browser(manifest: dict[str, Any]) -> None:
    variants = manifest["variants"]
    assert list(variants) == ["fp16", "fp32", "q8"]
    assert variants["q8"]["method"].startswith("int8-static")
    assert "16 pictures" in variants["q8"]["method"]
    for variant in variants.values():
        assert variant["agreement"]["web_max_abs_difference"] < 0.2
        assert not variant["warnings"]
    assert variants["fp32"]["agreement"]["web_max_abs_difference"] < 1e-4
    assert variants["fp16"]["features"] == ["shader-f16"]


def test_calibrated_int8_is_advised_for_wasm(manifest: dict[str, Any]) -> None:
    assert manifest["advice"]["not_advised"] == []
    assert next(each["dtype"] for each in manifest["advice"]["files"] if each["tier"] == "wasm") == "q8"
    assert not any("--texts" in warning["do"] for warning in manifest["advice"]["warnings"])


@pytest.mark.parametrize("dtype", ALLOWED)
@pytest.mark.parametrize("picture", PICTURES)
def test_native_answers_are_those_of_pillow_and_the_original_graph(
    packed: Path, manifest: dict[str, Any], by_hand: Mapping[str, float], dtype: str, picture: str
) -> None:
    path = packed / manifest["variants"][dtype]["files"][0]["path"]
    [[first, second]] = answers(open_session(path), [pixels_of(picture)])[0]["logits"]
    assert abs((first - second) - by_hand[picture]) < 2 * ALLOWED[dtype]


def test_answers_in_wasm_are_those_of_pillow_and_the_original_graph(
    packed: Path, manifest: dict[str, Any], by_hand: Mapping[str, float]
) -> None:
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        made = pool.submit(in_wasm, packed, manifest).result(timeout=300)
    assert len(made) == len(ALLOWED) * len(PICTURES)
    for (dtype, picture), logits in made.items():
        assert abs((logits[0] - logits[1]) - by_hand[picture]) < 2 * ALLOWED[dtype], (dtype, picture)


def in_wasm(packed: Path, manifest: dict[str, Any]) -> dict[tuple[str, str], Logits]:
    """(dtype, picture) -> logits of onnxruntime-web."""
    made = {}
    with web_sessions(packed) as web:
        for dtype in ALLOWED:
            files = [file["path"] for file in manifest["variants"][dtype]["files"]]
            with web.create(files, "wasm") as session:
                for picture in PICTURES:
                    made[dtype, picture] = session.run(pixels_of(picture))["logits"][0].astype(np.float64)
    return made
