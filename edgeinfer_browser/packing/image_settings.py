"""What a preprocessor_config.json asks for, in the form that the graph is made from; the rest is refused.

The steps and their order are those of transformers' image processors that resize with Pillow: resize, center crop,
rescale, normalize, flip the channels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeinfer_browser.errors import ManifestError

Size = tuple[int, int]

#: Image processors that do what their keys say and nothing else -> whether an integer ``size`` is a square.
TYPES = {
    "Beit": True,
    "Bit": False,
    "CLIP": False,
    "ConvNext": False,
    "DeiT": True,
    "MobileNetV1": False,
    "MobileNetV2": False,
    "MobileViT": False,
    "Segformer": True,
    "Siglip": True,
    "ViT": True,
}
#: Keys that are read here, or that change nothing about a decoded RGB picture.
KEYS = {
    "do_resize",
    "size",
    "resample",
    "do_center_crop",
    "crop_size",
    "do_rescale",
    "rescale_factor",
    "do_normalize",
    "image_mean",
    "image_std",
    "do_flip_channel_order",
    "do_convert_rgb",
    "image_processor_type",
    "feature_extractor_type",
    "processor_class",
    "data_format",
    "default_to_square",
    "crop_pct",
    "_valid_processor_keys",
    "_processor_class",
}
#: ConvNext models of this size and above are fed the whole picture, warped; smaller ones a crop of it.
CONVNEXT_WARPS_FROM = 384


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """From pixels to numbers. Sizes are (height, width) in pixels; ``scale`` and ``bias`` are for R, G, B in turn."""

    size: Size | None
    shortest_edge: int | None
    resample: int
    crop: Size | None
    scale: tuple[float, ...]
    bias: tuple[float, ...]
    flip: bool


def image_settings(config: Mapping[str, Any]) -> ImageSettings:
    """Read a preprocessor_config.json.

    Raises:
        ManifestError: for a key, a value or a kind of image processor that the graph has no counterpart for.
    """
    kind = _kind(config)
    for key, value in config.items():
        if key not in KEYS and value not in (None, False):
            raise _unsupported(key, value)
    size, shortest, crop = _sizes(config, kind)
    scale, bias = _arithmetic(config, kind)
    if config.get("data_format", "channels_first") != "channels_first":
        raise _unsupported("data_format", config["data_format"])
    return ImageSettings(size, shortest, _resample(config, kind), crop, scale, bias, _flips(config, kind))


def _unsupported(key: str, value: Any) -> ManifestError:
    return ManifestError(
        f"preprocessor_config.json: {key} = {value!r} cannot be put into the graph. Change it, or give the model what "
        "it wants yourself: pack it without a preprocessor_config.json.",
        key=key,
    )


def _kind(config: Mapping[str, Any]) -> str:
    name = str(config.get("image_processor_type") or config.get("feature_extractor_type") or "")
    kind = re.sub(r"(ImageProcessor(Fast|Pil)?|FeatureExtractor)$", "", name)
    if name and kind not in TYPES:
        raise ManifestError(
            f"preprocessor_config.json is for {name}, whose steps are not known here; known: {', '.join(TYPES)}. If "
            "its keys say all that it does, remove image_processor_type.",
            key="image_processor_type",
        )
    return kind


def _sizes(config: Mapping[str, Any], kind: str) -> tuple[Size | None, int | None, Size | None]:
    """``(size, shortest_edge, crop)``; at most one of the first two."""
    crop = _pair("crop_size", config.get("crop_size")) if config.get("do_center_crop", "crop_size" in config) else None
    if not config.get("do_resize", True):
        return None, None, crop
    size = config.get("size")
    if isinstance(size, int) and TYPES.get(kind, True):
        size = {"height": size, "width": size}
    if isinstance(size, int):
        size = {"shortest_edge": size}
    if not isinstance(size, Mapping) or set(size) != {"shortest_edge"}:
        return _pair("size", size), None, crop
    shortest = _whole("size", size["shortest_edge"])
    if kind != "ConvNext":
        return None, shortest, crop
    if crop:
        raise _unsupported("do_center_crop", config.get("do_center_crop"))
    if shortest >= CONVNEXT_WARPS_FROM:
        return (shortest, shortest), None, None
    return None, int(shortest / (config.get("crop_pct") or 224 / 256)), (shortest, shortest)


def _pair(key: str, value: Any) -> Size:
    if isinstance(value, int):
        return _whole(key, value), _whole(key, value)
    if not isinstance(value, Mapping) or set(value) != {"height", "width"}:
        raise _unsupported(key, value)
    return _whole(key, value["height"]), _whole(key, value["width"])


def _whole(key: str, value: Any) -> int:
    if not isinstance(value, int) or value < 1:
        raise _unsupported(key, value)
    return value


def _resample(config: Mapping[str, Any], kind: str) -> int:
    value = config.get("resample", 2 if kind == "ViT" else None)  # the first ViT files leave it out
    if config.get("do_resize", True) and value not in range(6):
        raise _unsupported("resample", value)
    return int(value or 0)


def _flips(config: Mapping[str, Any], kind: str) -> bool:
    return bool(config.get("do_flip_channel_order", kind == "MobileViT"))


def _arithmetic(config: Mapping[str, Any], kind: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """``(scale, bias)`` so that ``pixel * scale + bias`` is ``(pixel * rescale_factor - mean) / std``."""
    factor = config.get("rescale_factor", 1 / 255) if config.get("do_rescale", True) else 1.0
    means, deviations = (0.0,) * 3, (1.0,) * 3
    if config.get("do_normalize", "image_mean" in config and kind != "MobileViT"):
        means, deviations = _three("image_mean", config), _three("image_std", config)
    if not isinstance(factor, int | float):
        raise _unsupported("rescale_factor", factor)
    if 0 in deviations:
        raise _unsupported("image_std", list(deviations))
    return tuple(factor / std for std in deviations), tuple(-m / std for m, std in zip(means, deviations, strict=True))


def _three(key: str, config: Mapping[str, Any]) -> tuple[float, float, float]:
    value = config.get(key)
    values: list[Any] = list(value) if isinstance(value, list | tuple) else [value] * 3
    if len(values) != 3 or not all(isinstance(each, int | float) for each in values):
        raise _unsupported(key, value)
    return float(values[0]), float(values[1]), float(values[2])
