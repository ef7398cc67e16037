"""Pictures and sizes that resizing in the graph is compared with Pillow on; shared by native and browser tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import inliner, parser
from PIL import Image

from edgeinfer_browser.packing.image_resize import DOMAIN, resize_functions

Pixels = npt.NDArray[np.uint8]


def odd_sizes(count: int) -> list[tuple[int, int, int, int]]:
    """(height, width) of the source and of the target, odd, 1 to 299: up and down, together and against each other."""
    random = np.random.default_rng(2)
    return [tuple(int(size) | 1 for size in random.integers(1, 300, 4)) for _ in range(count)]  # type: ignore[misc]


def noise(height: int, width: int, seed: int = 0) -> Pixels:
    """The hardest picture: black and white at random, so that filters overshoot."""
    return np.random.default_rng(seed).integers(0, 2, (height, width, 3), dtype=np.uint8) * np.uint8(255)


def identity_model(dims: str = "n, 3, h, w", opset: int = 17) -> onnx.ModelProto:
    """A model that gives back what it is fed, so that pre-processing alone is seen."""
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["": {opset}]> g (float[{dims}] x) => (float[{dims}] y) {{ y = Identity (x) }}'
    )


def resizer(resample: int) -> onnx.ModelProto:
    """pixels uint8 [n, h, w, 3], height and width int64 [1] -> resized uint8 [n, height, width, 3]: any size in one."""
    text = f'''<ir_version: 8, opset_import: ["": 17, "{DOMAIN}": 1]>
    resizer (uint8[n, h, w, 3] pixels, int64[1] height, int64[1] width) => (uint8[n, a, b, 3] resized) {{
      resized = {DOMAIN}.Resize (pixels, height, width)
    }}
    '''
    return inliner.inline_local_functions(parser.parse_model(text + resize_functions(resample, 17)))


def resize_feeds(pixels: Pixels, height: int, width: int) -> dict[str, npt.NDArray[Any]]:
    """What :func:`resizer` is fed for one picture."""
    return {"pixels": pixels[None], "height": np.array([height]), "width": np.array([width])}


def by_pillow(pixels: Pixels, height: int, width: int, resample: int) -> npt.NDArray[Any]:
    """What Pillow makes of it, as int [height, width, 3]."""
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling(resample))).astype(int)
