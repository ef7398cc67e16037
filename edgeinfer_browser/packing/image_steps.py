"""The steps of image pre-processing as ONNX operators: flip, resize, crop, normalize, each from the one before."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import TensorProto

from edgeinfer_browser.packing.image_resize import DOMAIN, resize_functions
from edgeinfer_browser.packing.image_settings import ImageSettings, Size

CHANNELS = 3


def preprocessing_text(settings: ImageSettings, opset: int, channels_first: bool, element: int) -> str:
    """The pre-processing as a model in ONNX's text form.

    Its input is ``pixels``, uint8 [batch_size, height, width, 3], its output ``prepared``, of ONNX's type ``element``,
    [batch_size, 3, height, width] or, unless ``channels_first``, [batch_size, height, width, 3].
    """
    lines = ["image_0 = Identity (pixels)"]
    lines += _flip(settings)
    lines += _resize(settings)
    lines += _crop(settings.crop)
    lines += _normalize(settings, channels_first, element)
    kind = TensorProto.DataType.Name(element).lower()
    resizes = settings.size or settings.shortest_edge
    functions = resize_functions(settings.resample, opset) if resizes else ""
    return (
        f'<ir_version: 8, opset_import: ["": {opset}, "{DOMAIN}": 1]>\n'
        f"preprocess (uint8[batch_size, height, width, {CHANNELS}] pixels) => ({kind}[n, a, b, c] prepared) {{\n"
        + "\n".join(lines)
        + f"\n}}\n{functions}"
    )


def _flip(settings: ImageSettings) -> list[str]:
    if not settings.flip:
        return ["image_1 = Identity (image_0)"]
    return ["bgr = Constant <value_ints = [2, 1, 0]> ()", "image_1 = Gather <axis = 3> (image_0, bgr)"]


def _resize(settings: ImageSettings) -> list[str]:
    if settings.size:
        height, width = settings.size
        sizes = [f"new_{name} = Constant <value_ints = [{n}]> ()" for name, n in (("height", height), ("width", width))]
    elif settings.shortest_edge:
        sizes = [
            "s0 = Shape (image_1)",
            *(f"s{n} = Constant <value_ints = [{n}]> ()" for n in (1, 2, 3)),
            f"shortest = Constant <value_ints = [{settings.shortest_edge}]> ()",
            "old_height = Slice (s0, s1, s2)",
            "old_width = Slice (s0, s2, s3)",
            "old_shortest = Min (old_height, old_width)",
            "large_height = Mul (old_height, shortest)",
            "large_width = Mul (old_width, shortest)",
            "new_height = Div (large_height, old_shortest)",  # rounded down, as transformers does
            "new_width = Div (large_width, old_shortest)",
        ]
    else:
        return ["image_2 = Identity (image_1)"]
    return [*sizes, f"image_2 = {DOMAIN}.Resize (image_1, new_height, new_width)"]


def _crop(crop: Size | None) -> list[str]:
    """The middle; a picture that is too small is put into the middle of black, one pixel more before than after."""
    if not crop:
        return ["image_3 = Identity (image_2)"]
    return [
        *(f"c{n} = Constant <value_ints = [{n}]> ()" for n in (0, 1, 2, 3)),
        f"crop = Constant <value_ints = [{crop[0]}, {crop[1]}]> ()",
        "crop_axes = Constant <value_ints = [1, 2]> ()",
        "crop_shape = Shape (image_2)",
        "have = Slice (crop_shape, c1, c3)",
        "more = Sub (have, crop)",
        "less = Sub (crop, have)",
        "over = Max (more, c0)",
        "under = Max (less, c0)",
        "under_1 = Add (under, c1)",
        "before = Div (under_1, c2)",
        "after = Div (under, c2)",
        "pads = Concat <axis = 0> (c0, before, c0, c0, after, c0)",
        "padded = Pad (image_2, pads)",
        "crop_start = Div (over, c2)",
        "crop_end = Add (crop_start, crop)",
        "image_3 = Slice (padded, crop_start, crop_end, crop_axes)",
    ]


def _normalize(settings: ImageSettings, channels_first: bool, element: int) -> list[str]:
    order = slice(None, None, -1) if settings.flip else slice(None)
    return [
        _floats("scale", settings.scale[order]),
        _floats("bias", settings.bias[order]),
        "numbers = Cast <to = 1> (image_3)",
        "scaled = Mul (numbers, scale)",
        "shifted = Add (scaled, bias)",
        f"placed = Transpose <perm = {[0, 3, 1, 2] if channels_first else [0, 1, 2, 3]}> (shifted)",
        f"prepared = Cast <to = {element}> (placed)",
    ]


def _floats(name: str, values: Sequence[float]) -> str:
    numbers = ", ".join(f"{value:.9e}" for value in values)
    return f"{name} = Constant <value = float[{len(values)}] {{{numbers}}}> ()"  # onnxslim makes value_floats float64
