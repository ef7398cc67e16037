"""Image pre-processing in the graph against Pillow and plain arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser
from PIL import Image

from edgeinfer_browser.errors import GraphError, ManifestError
from edgeinfer_browser.packing.images import prepend_preprocessing
from edgeinfer_browser.packing.native import answers, open_session
from tests.image_cases import Pixels, by_pillow, identity_model, noise, odd_sizes, resize_feeds, resizer

PLAIN = {"do_rescale": False}


def resized(session: Any, pixels: Pixels, height: int, width: int) -> npt.NDArray[Any]:
    return np.asarray(answers(session, [resize_feeds(pixels, height, width)])[0]["resized"][0], int)


def run(model: onnx.ModelProto, pixels: Pixels) -> npt.NDArray[Any]:
    [outputs] = answers(open_session(model), [{"pixels": pixels[None]}])
    [made] = outputs.values()
    return np.asarray(made[0])


@pytest.mark.parametrize("resample", [0, 1, 2, 3, 4, 5])
def test_resizing_equals_pillow_on_odd_sizes(resample: int) -> None:
    session, different, total = open_session(resizer(resample)), 0, 0
    for height, width, new_height, new_width in odd_sizes(50):
        pixels = noise(height, width)
        expected = by_pillow(pixels, new_height, new_width, resample)
        apart = np.abs(resized(session, pixels, new_height, new_width) - expected)
        assert apart.max() <= 1, (height, width, new_height, new_width)
        different, total = different + int(np.count_nonzero(apart)), total + apart.size
    assert different / total < (1e-3 if resample in (1, 5) else 1e-9)  # those two have sines


@pytest.mark.parametrize(
    ("height", "width", "new_height", "new_width"),
    [
        (1, 1, 7, 9),
        (5, 9, 1, 1),
        (50, 70, 50, 70),
        (480, 640, 224, 224),
        (100, 100, 200, 200),
        (100, 100, 29, 64),
        (90, 30, 29, 40),
    ],
)
@pytest.mark.parametrize("resample", [1, 2, 3, 5])
def test_even_sizes_and_the_order_of_the_passes_too(
    height: int, width: int, new_height: int, new_width: int, resample: int
) -> None:
    pixels = noise(height, width)
    made = resized(open_session(resizer(resample)), pixels, new_height, new_width)
    assert np.abs(made - by_pillow(pixels, new_height, new_width, resample)).max() <= 1


def test_a_tie_takes_a_neighbour_and_never_more() -> None:
    ramp = np.broadcast_to(np.arange(250, dtype=np.uint8)[None, :, None], (1, 250, 3)).copy()
    made = resized(open_session(resizer(0)), ramp, 1, 224)
    assert np.abs(made - by_pillow(ramp, 1, 224, 0)).max() <= 1


@pytest.mark.parametrize(("height", "width"), [(33, 50), (50, 33), (427, 640), (7, 7)])
def test_the_shortest_edge_keeps_the_shape(height: int, width: int) -> None:
    config = {"size": {"shortest_edge": 24}, "resample": 3, **PLAIN}
    made = run(prepend_preprocessing(identity_model("n, h, w, 3"), config), noise(height, width))
    long = int(24 * max(height, width) / min(height, width))
    assert made.shape == ((24, long, 3) if height <= width else (long, 24, 3))


@pytest.mark.parametrize(("height", "width"), [(9, 9), (10, 8), (8, 10), (7, 7), (3, 20), (20, 3), (4, 5)])
def test_a_center_crop_pads_what_is_too_small(height: int, width: int) -> None:
    config = {"do_resize": False, "do_center_crop": True, "crop_size": {"height": 8, "width": 7}, **PLAIN}
    pixels = noise(height, width) // 2 + np.uint8(1)
    made = run(prepend_preprocessing(identity_model("n, h, w, 3"), config), pixels)
    tall, wide = max(height, 8), max(width, 7)
    canvas = np.zeros((tall, wide, 3))
    top, left = -(-(tall - height) // 2), -(-(wide - width) // 2)
    canvas[top : top + height, left : left + width] = pixels
    top, left = (tall - 8) // 2 if height > 8 else 0, (wide - 7) // 2 if width > 7 else 0
    assert np.array_equal(made, canvas[top : top + 8, left : left + 7])


def test_rescaling_normalizing_and_flipping_are_plain_arithmetic() -> None:
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    config = {"size": 6, "resample": 2, "image_mean": mean, "image_std": std, "do_flip_channel_order": True}
    made = run(prepend_preprocessing(identity_model(), config), noise(9, 9))
    resized = by_pillow(noise(9, 9), 6, 6, 2) / 255
    expected = ((resized - mean) / std)[:, :, ::-1].transpose(2, 0, 1)
    assert np.allclose(made, expected, atol=0.02)  # one grey level, normalized
    assert np.median(np.abs(made - expected)) < 1e-6


def test_a_batch_is_its_pictures() -> None:
    session = open_session(resizer(3))
    pictures = np.stack([noise(20, 30, seed) for seed in range(3)])
    [together] = answers(session, [resize_feeds(pictures[0], 11, 13) | {"pixels": pictures}])
    alone = [resized(session, picture, 11, 13) for picture in pictures]
    assert np.array_equal(together["resized"], np.stack(alone))


@pytest.mark.parametrize(
    ("processor", "size", "expected"),
    [
        ("ViTFeatureExtractor", 12, (12, 12)),
        ("CLIPImageProcessor", 12, (12, 18)),
        ("ConvNextImageProcessorFast", {"shortest_edge": 12}, (12, 12)),
    ],
)
def test_an_image_processor_has_its_own_reading_of_size(
    processor: str, size: object, expected: tuple[int, int]
) -> None:
    config = {"image_processor_type": processor, "size": size, "resample": 2}
    assert run(prepend_preprocessing(identity_model(), config), noise(20, 30)).shape[1:] == expected


def test_convnext_resizes_by_its_share_then_crops() -> None:
    config = {"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 21}, "resample": 3, **PLAIN}
    made = run(prepend_preprocessing(identity_model("n, h, w, 3"), config | {"crop_pct": 0.875}), noise(40, 60))
    assert np.abs(made - by_pillow(noise(40, 60), 24, 36, 3)[1:22, 7:28]).max() <= 1


def test_names_of_the_model_stay_apart_and_its_weights_stay() -> None:
    model = parser.parse_model(
        '<ir_version: 3, opset_import: ["": 9]> g (float[n, 3, 4, 4] pixels, float[1] image_1)'
        " => (float[n, 3, 4, 4] shape) <float[1] image_1 = {2.0}> { shape = Mul (pixels, image_1) }"
    )
    made = prepend_preprocessing(model, {"size": 4, "resample": 2, **PLAIN})
    assert [value.name for value in made.graph.input] == ["pixels"]
    assert np.array_equal(run(made, noise(4, 4)), noise(4, 4).transpose(2, 0, 1) * 2.0)


def test_a_half_precision_model_is_fed_half_precision() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float16[n, 3, 4, 4] x) => (float16[n, 3, 4, 4] y) {y = Identity(x)}'
    )
    assert run(prepend_preprocessing(model, {"size": 4, "resample": 2}), noise(5, 5)).dtype == np.float16


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"size": 8, "resample": 2, "do_pad": True}, "do_pad"),
        ({"size": 8, "resample": 7}, "resample"),
        ({"size": 8}, "resample"),
        ({"size": {"longest_edge": 8}, "resample": 2}, "size"),
        ({"resample": 2}, "size"),
        ({"size": 0, "resample": 2}, "size"),
        ({"size": 8, "resample": 2, "do_normalize": True}, "image_mean"),
        ({"size": 8, "resample": 2, "image_mean": [0, 0, 0], "image_std": [1, 0, 1]}, "image_std"),
        ({"size": 8, "resample": 2, "do_center_crop": True}, "crop_size"),
        ({"size": 8, "resample": 2, "image_processor_type": "LevitImageProcessor"}, "image_processor_type"),
        ({"size": 8, "resample": 2, "rescale_factor": "1/255"}, "rescale_factor"),
    ],
)
def test_what_has_no_counterpart_is_named(config: dict[str, Any], named: str) -> None:
    with pytest.raises(ManifestError, match=named):
        prepend_preprocessing(identity_model(), config)


def test_a_size_that_is_not_the_models_is_refused() -> None:
    with pytest.raises(ManifestError, match="8x8, but x of the model is 16x16"):
        prepend_preprocessing(identity_model("n, 3, 16, 16"), {"size": 8, "resample": 2})


@pytest.mark.parametrize("dims", ["n, a, b, d", "n, 1, 8, 8", "3, 8, 8"])
def test_an_input_that_is_no_image_is_refused(dims: str) -> None:
    with pytest.raises(GraphError):
        prepend_preprocessing(identity_model(dims), {"size": 8, "resample": 2})


def test_pillow_is_as_new_as_the_order_of_its_passes() -> None:
    pixels = noise(90, 30)
    image = Image.fromarray(pixels)
    height_first = image.resize((30, 29), 3).resize((40, 29), 3)
    assert np.array_equal(np.asarray(height_first), by_pillow(pixels, 29, 40, 3))
