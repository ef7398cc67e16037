"""The texts of an evaluation: counted once, refused when they were used before."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.evaluation.samples import read_samples, require_unused
from edgeinfer_browser.packing.texts import digest_of


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_texts_that_differ_in_case_and_punctuation_only_are_counted_once(tmp_path: Path) -> None:
    samples = read_samples(write(tmp_path / "t.txt", "I love it\ni love it!\nNo.\nI LOVE IT\n"))
    assert samples.texts == ("I love it", "No.")
    assert samples.duplicates == 2
    assert samples.labels is None


def test_a_limit_takes_the_first_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", "a\na\nb\nc\n")
    assert read_samples(path, 2).texts == ("a", "b")
    with pytest.raises(InputError, match="--limit 0"):
        read_samples(path, 0)


def test_labels_count_only_when_every_text_has_one(tmp_path: Path) -> None:
    whole = read_samples(write(tmp_path / "a.csv", "text,label\nfine,positive\nbad,negative\n"))
    assert whole.labels == ("positive", "negative")
    torn = read_samples(write(tmp_path / "b.csv", "text,label\nfine,positive\nbad,\n"))
    assert (torn.labels, torn.unlabelled) == (None, 1)


def test_texts_of_the_calibration_file_are_refused(tmp_path: Path) -> None:
    calibration = write(tmp_path / "c.txt", "I LOVE it.\nother\n")
    with pytest.raises(InputError, match="1 of the 2 evaluation texts were used for calibration") as caught:
        require_unused(["I love it", "no"], {}, calibration)
    assert caught.value.details["shared"] == ["I love it"]
    require_unused(["yes", "no"], {}, calibration)


def test_texts_that_the_manifest_knows_are_refused() -> None:
    calibrated = {"calibration": {"texts": 1, "digests": [digest_of("seen before")]}}
    with pytest.raises(InputError, match="used for calibration"):
        require_unused(["Seen before!"], calibrated)
    require_unused(["new"], calibrated)


@pytest.mark.parametrize("key", ["training", "accuracy"])
def test_texts_that_a_head_was_trained_on_are_refused(key: str) -> None:
    head = {"name": "mood", "output": "mood_logits", key: {"texts": 1, "digests": [digest_of("seen")]}}
    with pytest.raises(InputError, match="training the head 'mood'"):
        require_unused(["seen"], {"heads": [head]})
