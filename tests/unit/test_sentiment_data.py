"""The rated texts: reading, leaving out neutral and repeated ones, splits that share nothing."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

from sentiment_data import FILES, LabelledText, clean, make_splits, parse

WORDS = ("quick", "slow", "bright", "dull", "warm", "cold", "loud", "soft", "sweet", "bitter")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four sources of 100 texts each: amazon and nyt with five sentences a document."""
    for source, name in FILES.items():
        lines = []
        for number in range(100):
            identifier = f"{number // 5}_{number % 5}" if source in ("amazon", "nyt") else str(number)
            rating = (1.5 if number % 3 else -2.0) if number % 10 else 0.2
            lines.append(f"{identifier}\t{rating}\t{source} {WORDS[number // 10]} {WORDS[number % 10]}\r\n")
        (tmp_path / name).write_text("".join(lines), encoding="utf-8", newline="")
    return tmp_path


def text(words: str, rating: float = 2.0) -> LabelledText:
    return LabelledText("tweets", "1", rating, words)


def test_parse_reads_id_rating_and_text() -> None:
    assert list(parse("amazon", ["12_3\t-0.9\tno picture\tat all\r\n"])) == [
        LabelledText("amazon", "12", -0.9, "no picture\tat all")
    ]


def test_parse_undoes_html_entities() -> None:
    assert next(parse("tweets", ["1\t2.5\tYou &amp; me &lt;3\n"])).text == "You & me <3"


def test_parse_names_the_line_it_cannot_read() -> None:
    with pytest.raises(ValueError, match=r"nyt, line 2: .*'no tabs here"):
        list(parse("nyt", ["1_1\t0.5\tfine\n", "no tabs here\n"]))


@pytest.mark.parametrize(("rating", "label"), [(0.5, 1), (3.9, 1), (-0.5, 0), (-4.0, 0)])
def test_label_is_the_sign_of_the_rating(rating: float, label: int) -> None:
    assert text("so it is", rating).label == label


def test_clean_drops_neutral_texts() -> None:
    kept = clean([text("a", 0.49), text("b", 0.5), text("c", -0.49), text("d", -0.5), text("e", 0.0)])
    assert [each.text for each in kept] == ["b", "d"]


def test_clean_keeps_the_first_of_repeated_texts() -> None:
    kept = clean([text("So good!"), text("so  GOOD"), text("so good", -1.0), text("so good indeed"), text("!?")])
    assert [each.text for each in kept] == ["So good!", "so good indeed"]


def test_splits_have_the_sizes_asked_for(folder: Path) -> None:
    splits = make_splits(folder, evaluation=42, calibration=10)
    assert len(splits["evaluation"]) == 42
    assert len(splits["calibration"]) == 10
    for source in FILES:
        assert sum(each.source == source for each in splits["evaluation"]) in (10, 11)


def test_splits_share_neither_text_nor_document(folder: Path) -> None:
    splits = make_splits(folder, evaluation=42, calibration=10)
    for first, second in combinations(splits.values(), 2):
        assert {each.text for each in first}.isdisjoint(each.text for each in second)
        documents = {(each.source, each.document) for each in first}
        assert documents.isdisjoint((each.source, each.document) for each in second)


def test_splits_are_the_same_every_time(folder: Path) -> None:
    assert make_splits(folder, evaluation=42, calibration=10) == make_splits(folder, evaluation=42, calibration=10)


def test_another_seed_gives_other_splits(folder: Path) -> None:
    first = make_splits(folder, evaluation=42, calibration=10, seed=1)
    assert first["evaluation"] != make_splits(folder, evaluation=42, calibration=10, seed=2)["evaluation"]
