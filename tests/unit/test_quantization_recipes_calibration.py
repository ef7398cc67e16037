"""Calibration feeds: read one at a time, cut to one length, too few of them refused."""

from __future__ import annotations

import numpy as np
import pytest

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.quantization.calibration import FeedReader, Feeds, of_one_length, require_feeds


def feed(length: int) -> Feeds:
    return {"input_ids": np.arange(length)[None], "attention_mask": np.ones((1, length), np.int64)}


def lengths(feeds: list[dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]]) -> list[int]:
    return [array.shape[1] for each in feeds for array in each.values()]


def test_a_reader_gives_each_feed_once_and_a_range_when_asked() -> None:
    reader = FeedReader([feed(3), feed(5), feed(4)])
    assert len(reader) == 3
    assert lengths(list(reader)) == [3, 3, 5, 5, 4, 4]
    assert reader.get_next() is None
    reader.set_range(1, 2)
    assert lengths(list(reader)) == [5, 5]
    reader.rewind()
    assert lengths(list(reader)) == [3, 3, 5, 5, 4, 4]


def test_feeds_of_one_length_keep_the_most_tokens() -> None:
    cut = of_one_length([feed(2), feed(10), feed(12), feed(50)])
    assert lengths(cut) == [50, 50], "50 tokens: more than three texts of ten have"
    cut = of_one_length([feed(2), feed(20), feed(22), feed(50)])
    assert lengths(cut) == [20, 20] * 3, "60 tokens"
    np.testing.assert_array_equal(cut[1]["input_ids"], np.arange(20)[None])


def test_images_stay_as_they_are() -> None:
    pixels = np.zeros((1, 8, 8, 3), np.uint8)
    assert of_one_length([{"pixels": pixels, "size": np.array([8])}] * 2)[1]["pixels"].shape == pixels.shape


def test_too_few_feeds_are_refused() -> None:
    with pytest.raises(InputError, match="there are none") as caught:
        require_feeds([], "int8-static")
    assert caught.value.details == {"method": "int8-static", "feeds": 0}
    with pytest.raises(InputError, match="there is one"):
        require_feeds([feed(3)], "int8-static")
    require_feeds([feed(3), feed(4)], "int8-static")
