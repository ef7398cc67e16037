"""Texts that a user brings: read from each form of file, with the line named where one cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.texts import Example, digest_of, read_examples, require_disjoint

EXAMPLES = [Example("Fine, really", "good"), Example("awful", "bad")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'text,label\n"Fine, really",good\nawful,bad\n'),
        ("b.csv", '\ufefflabel,text\r\ngood,"Fine, really"\r\nbad,awful\r\n'),
        ("c.tsv", "label\ttext\ngood\tFine, really\nbad\tawful\n"),
        ("d.jsonl", '{"text": "Fine, really", "label": "good"}\n\n{"label": "bad", "text": "awful"}\n'),
    ],
)
def test_each_form_gives_the_same_examples(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    assert read_examples(tmp_path / name) == EXAMPLES


def test_a_plain_file_is_one_text_a_line_without_labels(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one\r\n\ntwo, three\n")
    assert read_examples(tmp_path / "texts.txt") == [Example("one"), Example("two, three")]


def test_columns_of_other_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("review,stars\nfine,5\n")
    assert read_examples(tmp_path / "a.csv", "review", "stars") == [Example("fine", "5")]


def test_a_text_over_several_lines_of_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text\n"one\ntwo"\n')
    assert read_examples(tmp_path / "a.csv") == [Example("one\ntwo")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"review\nfine\n", r"a\.csv, line 2 has no 'text' \(it has: review\)"),
        ("a.jsonl", b'{"text": "a"}\n{"text": 3}\n', r"a\.jsonl, line 2 has no 'text'"),
        ("a.jsonl", b"[1]\n", r"line 1 has no 'text' \(it has: list\)"),
        ("a.jsonl", b"not json\n", r"a\.jsonl, line 1 is not JSON"),
        ("a.txt", b"", "has no texts"),
        ("a.txt", b"caf\xe9\n", "is not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_examples(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.csv cannot be read"):
        read_examples(tmp_path / "absent.csv")


def test_a_digest_looks_past_case_and_punctuation_alone() -> None:
    assert digest_of("I love it!") == digest_of("i LOVE  it")
    assert digest_of("I love it") != digest_of("I loved it")
    assert digest_of("☕") != digest_of("👍")
    assert len(digest_of("")) == 16


def test_texts_that_were_used_before_are_refused_with_some_of_them() -> None:
    require_disjoint(["new"], [digest_of("old")], "calibration")
    with pytest.raises(InputError, match="1 of the 2 evaluation texts were used for calibration too") as caught:
        require_disjoint(["new", "OLD!"], [digest_of("old")], "calibration")
    assert caught.value.details["shared"] == ["OLD!"]
