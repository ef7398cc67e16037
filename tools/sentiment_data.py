"""The human-rated texts of Hutto & Gilbert (2014), as positive and negative texts in three fixed splits.

Each source is one file of ``id <tab> mean rating <tab> text`` lines; at least 20 people rated each text from
-4 to 4. Amazon and newspaper ids are ``document_sentence``, the others number single texts. ::

    from sentiment_data import load_split
    load_split("evaluation")  # 1,000 LabelledText; the others are "train" and "calibration"

``python tools/sentiment_data.py`` writes them to ``.cache/sentiment/<split>.jsonl``, as ``edgeinfer head fit`` and
``edgeinfer evaluate`` read them: ``{"text", "label", "document"}`` on each line.
"""

from __future__ import annotations

import html
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from fetch_sources import TEXTS

Split = Literal["train", "calibration", "evaluation"]

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / ".cache" / "sentiment"
NOTICE = """Texts and ratings: vaderSentiment 3.2.1 (C.J. Hutto, MIT). Hutto, C.J. & Gilbert, E.E. (2014): VADER: A
Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text. ICWSM-14. Here: without neutral and repeated
texts, with the sign of the mean rating as the label.
"""
LABELS = ("negative", "positive")

SEED = 20140601
EVALUATION = 1000
CALIBRATION = 200
NEUTRAL_BELOW = 0.5  # the raters were split, or saw no feeling: neither label would be true
FILES = {
    "amazon": "amazonReviewSnippets_GroundTruth.txt",
    "movies": "movieReviewSnippets_GroundTruth.txt",
    "nyt": "nytEditorialSnippets_GroundTruth.txt",
    "tweets": "tweets_GroundTruth.txt",
}


@dataclass(frozen=True)
class LabelledText:
    """One rated text; ``document`` is shared by the sentences of one review or article."""

    source: str
    document: str
    rating: float
    text: str

    @property
    def label(self) -> int:
        """1 for positive, 0 for negative."""
        return int(self.rating > 0)


def parse(source: str, lines: Iterable[str]) -> Iterator[LabelledText]:
    """Read ``id <tab> rating <tab> text`` lines; tweets come with HTML entities, which are undone."""
    for number, line in enumerate(lines, 1):
        fields = line.rstrip("\r\n").split("\t", 2)
        if len(fields) != 3:
            raise ValueError(f"{source}, line {number}: expected id, rating and text, got {line[:60]!r}")
        identifier, rating, text = fields
        yield LabelledText(source, identifier.partition("_")[0], float(rating), html.unescape(text).strip())


def read_source(source: str, folder: Path) -> list[LabelledText]:
    """All texts of one source, in file order."""
    with (folder / FILES[source]).open(encoding="utf-8", newline="\n") as lines:
        return list(parse(source, lines))


def clean(texts: Iterable[LabelledText]) -> list[LabelledText]:
    """Drop neutral texts, and all but the first of texts that differ only in case, spaces or punctuation."""
    seen: set[str] = set()
    kept = []
    for text in texts:
        words = " ".join(re.findall(r"\w+", text.text.casefold()))
        if abs(text.rating) >= NEUTRAL_BELOW and words and words not in seen:
            seen.add(words)
            kept.append(text)
    return kept


def _shares(total: int, sizes: dict[str, int]) -> dict[str, int]:
    """``total`` shared out in proportion to ``sizes``: rounded down, the rest to the largest remainders."""
    exact = {name: total * size / sum(sizes.values()) for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def _shuffled_by_document(texts: list[LabelledText], source: str, seed: int) -> list[LabelledText]:
    documents: dict[str, list[LabelledText]] = {}
    for text in texts:
        documents.setdefault(text.document, []).append(text)
    order = sorted(documents)
    random.Random(f"{seed}/{source}").shuffle(order)
    return [text for document in order for text in documents[document]]


def _without_documents_of(texts: list[LabelledText], others: list[LabelledText]) -> list[LabelledText]:
    taken = {other.document for other in others}
    return [text for text in texts if text.document not in taken]


def split_source(texts: list[LabelledText], evaluation: int, calibration: int) -> dict[Split, list[LabelledText]]:
    """Cut one source's shuffled texts in three; the few that would tear a document apart are left out.

    Sentences of one review share its subject and mood, so a document must not be on two sides.
    """
    held_out = texts[:evaluation]
    rest = _without_documents_of(texts[evaluation:], held_out)
    tuning = rest[:calibration]
    train = _without_documents_of(rest[calibration:], tuning)
    return {"train": train, "calibration": tuning, "evaluation": held_out}


def make_splits(
    folder: Path = TEXTS, *, evaluation: int = EVALUATION, calibration: int = CALIBRATION, seed: int = SEED
) -> dict[Split, list[LabelledText]]:
    """Read, clean and split all sources; each source has the same share of every split."""
    texts = clean(text for source in FILES for text in read_source(source, folder))
    by_source = {source: [text for text in texts if text.source == source] for source in FILES}
    sizes = {source: len(members) for source, members in by_source.items()}
    held_out, tuning = _shares(evaluation, sizes), _shares(calibration, sizes)
    splits: dict[Split, list[LabelledText]] = {name: [] for name in get_args(Split)}
    for source, members in by_source.items():
        shuffled = _shuffled_by_document(members, source, seed)
        for name, part in split_source(shuffled, held_out[source], tuning[source]).items():
            splits[name] += part
    return splits


@cache
def _all_splits() -> dict[Split, list[LabelledText]]:
    return make_splits()


def load_split(split: Split) -> list[LabelledText]:
    """The texts of one split, from the unpacked sources (``tools/fetch_sources.py``)."""
    return list(_all_splits()[split])


def write_split(split: Split, folder: Path = WRITTEN) -> Path:
    """Write one split as JSONL; its path."""
    lines = [
        json.dumps({"text": text.text, "label": LABELS[text.label], "document": f"{text.source}/{text.document}"})
        for text in load_split(split)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "NOTICE").write_text(NOTICE, encoding="utf-8")
    path = folder / f"{split}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def main() -> int:
    """Write each split, and print its size."""
    for split in get_args(Split):
        texts = load_split(split)
        sources = Counter(text.source for text in texts)
        positive = sum(text.label for text in texts) / len(texts)
        path = write_split(split).relative_to(ROOT)
        print(f"{path}: {len(texts)} texts, {positive:.1%} positive, {dict(sorted(sources.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
