"""A folder of pictures, read for calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from edgeinfer_browser.errors import InputError

#: Endings of the files that count as pictures.
ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
#: Pictures that are read, at most, by name in order: more change the ranges little.
MOST = 100
#: Pixels of a side, at most: larger pictures are made smaller, as the graph does too, so that all fit into memory.
LARGEST_SIDE = 1024


def read_pictures(folder: Path) -> list[dict[str, npt.NDArray[Any]]]:
    """Feeds of an image model: ``pixels`` uint8 [1, height, width, 3], RGB and upright, one for each picture.

    Raises:
        InputError: when ``folder`` is none or has no pictures, or one cannot be read; names it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder. An image model is calibrated on a folder of pictures.")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)[:MOST]
    if not paths:
        raise InputError(f"{folder} has no pictures ({', '.join(ENDINGS)}).")
    return [{"pixels": _pixels(path)} for path in paths]


def _pixels(path: Path) -> npt.NDArray[np.uint8]:
    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"{path} cannot be read as a picture: {error}") from error
    upright.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    return np.asarray(upright, np.uint8)[None]
