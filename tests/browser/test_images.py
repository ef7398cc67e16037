"""Image pre-processing where it will run, onnxruntime-web in Chromium, against Pillow; a real classifier with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from PIL import Image
from sklearn.datasets import load_sample_image

from edgeinfer_browser.headless.session import WebSessions, web_sessions
from edgeinfer_browser.packing.files import external_files, save
from edgeinfer_browser.packing.images import prepend_preprocessing
from edgeinfer_browser.packing.native import answers, open_session
from tests.image_cases import by_pillow, noise, odd_sizes, resize_feeds, resizer

OPEN_NSFW = Path(".cache/sources/open_nsfw/open-nsfw.onnx")
#: As the model was trained: 256x256, the middle 224x224, BGR, the mean subtracted (given here for R, G, B).
OPEN_NSFW_CONFIG: dict[str, Any] = {
    "size": {"height": 256, "width": 256},
    "resample": 2,
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
    "do_rescale": False,
    "image_mean": [123.0, 117.0, 104.0],
    "image_std": [1.0, 1.0, 1.0],
    "do_flip_channel_order": True,
}
PICTURES = ("china.jpg", "flower.jpg")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("images")
    for resample in range(6):
        save(resizer(resample), made / f"resize_{resample}.onnx")
    save(prepend_preprocessing(onnx.load(str(OPEN_NSFW)), OPEN_NSFW_CONFIG), made / "open_nsfw.onnx")
    return made


Run = Callable[[str, str, list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Run]:
    """run(file, executionProvider, feeds) -> the outputs for each of the feeds, from one session."""
    context = web_sessions(folder)
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        web = pool.submit(context.__enter__).result(timeout=120)
        yield lambda *arguments: pool.submit(_run, web, folder, *arguments).result(timeout=300)
        pool.submit(context.__exit__, None, None, None).result(timeout=60)


def _run(
    web: WebSessions, folder: Path, file: str, execution_provider: str, feeds: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    files = [path.name for path in [folder / file, *external_files(folder / file)]]
    with web.create(files, execution_provider) as session:
        assert session.execution_provider == execution_provider
        return [session.run(each) for each in feeds]


def equals_pillow(run: Run, execution_provider: str, resample: int, sizes: list[tuple[int, int, int, int]]) -> None:
    feeds = [resize_feeds(noise(size[0], size[1]), size[2], size[3]) for size in sizes]
    made = run(f"resize_{resample}.onnx", execution_provider, feeds)
    assert len(made) == len(sizes)
    for (height, width, new_height, new_width), outputs in zip(sizes, made, strict=True):
        expected = by_pillow(noise(height, width), new_height, new_width, resample)
        assert np.abs(outputs["resized"][0] - expected).max() <= 1, (height, width, new_height, new_width)


def prepared_by_hand(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """What the original graph wants, [1, 224, 224, 3], by Pillow and numpy."""
    middle = np.asarray(Image.fromarray(pixels).resize((256, 256), Image.Resampling.BILINEAR))[16:240, 16:240]
    return np.asarray(middle[None, :, :, ::-1] - np.array([104, 117, 123]), np.float32)


@pytest.mark.parametrize("resample", range(6))
def test_resizing_in_wasm_equals_pillow_on_odd_sizes(run: Run, resample: int) -> None:
    equals_pillow(run, "wasm", resample, odd_sizes(50))


@pytest.mark.parametrize("resample", [2, 3])
def test_resizing_in_a_webgpu_session_equals_pillow(run: Run, resample: int) -> None:
    equals_pillow(run, "webgpu", resample, odd_sizes(4))


@pytest.mark.parametrize("picture", PICTURES)
def test_a_real_classifier_answers_as_with_pillow(run: Run, folder: Path, picture: str) -> None:
    pixels = load_sample_image(picture)
    [expected] = answers(open_session(OPEN_NSFW), [{"input:0": prepared_by_hand(pixels)}])
    [native] = answers(open_session(folder / "open_nsfw.onnx"), [{"pixels": pixels[None]}])
    [web] = run("open_nsfw.onnx", "wasm", [{"pixels": pixels[None]}])
    for name, values in expected.items():
        assert values.shape == (1, 2)
        assert np.allclose(native[name], values, atol=1e-5)
        assert np.allclose(web[name], values, atol=1e-4)
