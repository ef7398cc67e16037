"""Calibration feeds, as ONNX Runtime's calibrators want to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnxruntime.quantization import CalibrationDataReader

from edgeinfer_browser.errors import InputError

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

#: Fewer say nothing about what a model sees. A hundred is a good number.
LEAST_FEEDS = 2


def require_feeds(feeds: Sequence[Feeds], method: str) -> None:
    """Refuse too few calibration feeds.

    Raises:
        InputError: says how many there are and how many are wanted.
    """
    if len(feeds) < LEAST_FEEDS:
        have = "there is one" if feeds else "there are none"
        raise InputError(
            f"{method} measures activations on calibration texts (or images), and {have}. "
            "Give a hundred or so that are like those the model will see, and that are not evaluated on.",
            method=method,
            feeds=len(feeds),
        )


def of_one_length(feeds: Sequence[Feeds]) -> list[dict[str, Array]]:
    """The feeds, cut along axis 1 to the one length that leaves the most tokens; those that are shorter are left out.

    Args:
        feeds: arrays [1, length, ...], the length may differ from feed to feed; arrays of one axis are left alone.
    """
    lengths = [min((array.shape[1] for array in feed.values() if array.ndim > 1), default=1) for feed in feeds]
    best = max(set(lengths), key=lambda length: (length * sum(other >= length for other in lengths), length))
    return [
        {name: array[:, :best] if array.ndim > 1 else array for name, array in feed.items()}
        for feed, length in zip(feeds, lengths, strict=True)
        if length >= best
    ]


class FeedReader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Reads feeds in order. Feeds of different lengths are read one at a time (``CalibStridedMinMax`` of 1).

    ONNX Runtime's histogram calibrators (entropy, percentile) put all that one ``collect_data`` read into one array,
    which texts of different lengths do not fit. Read one by one, each text is an array, and histograms are merged.
    """

    def __init__(self, feeds: Sequence[Feeds]) -> None:
        self._feeds = [{name: np.asarray(array) for name, array in feed.items()} for feed in feeds]
        self.rewind()

    def __len__(self) -> int:
        return len(self._feeds)

    def rewind(self) -> None:
        """Read all feeds, from the first one on."""
        self.set_range(0, len(self._feeds))

    def set_range(self, start_index: int, end_index: int) -> None:
        """Read only the feeds ``start_index`` to ``end_index`` (that one not included) from now on."""
        self._at, self._end = start_index, end_index

    def get_next(self) -> dict[str, Array] | None:
        """The next feed, or None."""
        if self._at >= self._end:
            return None
        self._at += 1
        return self._feeds[self._at - 1]
