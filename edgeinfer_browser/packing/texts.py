"""Texts that a user brings: to train a head, to calibrate a quantizer, to evaluate a variant.

CSV and TSV need a header with a column ``text`` and may have one ``label``; JSONL has an object with ``text`` and
perhaps ``label`` on each line; any other file is one text a line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import InputError


@dataclass(frozen=True, slots=True)
class Example:
    """A text and, where one is given, its label."""

    text: str
    label: str | None = None


def read_examples(path: Path, text: str = "text", label: str = "label") -> list[Example]:
    """The examples of a .csv, .tsv, .jsonl or plain text file, in order. Lines without a text are an error.

    Args:
        path: the file, UTF-8.
        text: name of the column (CSV) or key (JSONL) that has the text.
        label: name of the column or key that has the label; without it there are none.

    Raises:
        InputError: when the file is not there, is not UTF-8, is empty, or a line cannot be read (says which).
    """
    return [_example(row, where, text, label) for where, row in read_rows(path)]


def read_rows(path: Path) -> list[tuple[str, Any]]:
    """The rows of a file as ``(where, row)``: the place for messages, and what the row's columns or keys hold.

    Raises:
        InputError: when the file is not there, is not UTF-8, is empty, or a line cannot be read (says which).
    """
    try:
        content = path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error}. Convert it first.", path=str(path)) from error
    rows = list(_READERS.get(path.suffix.lower(), _lines)(content, path))
    if not rows:
        raise InputError(f"{path} has no texts.", path=str(path))
    return rows


def digest_of(text: str) -> str:
    """What a text is known by in manifests: 16 hex digits of the sha256 of its words, case and punctuation aside."""
    words = " ".join(re.findall(r"\w+", text.casefold())) or text
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def require_disjoint(evaluation: Sequence[str], others: Iterable[str], what: str) -> None:
    """Refuse evaluation texts that were used before: measured on those, quality flatters.

    Args:
        evaluation: texts.
        others: digests (:func:`digest_of`) of the texts used.
        what: what they were used for, e.g. ``"calibration"``.

    Raises:
        InputError: when any text is in both; ``details["shared"]`` has up to ten of them.
    """
    taken = set(others)
    shared = [text for text in evaluation if digest_of(text) in taken]
    if shared:
        raise InputError(
            f"{len(shared)} of the {len(evaluation)} evaluation texts were used for {what} too, e.g. "
            f"{shared[0]!r:.80}. Measured on them, quality would flatter: take other texts.",
            shared=shared[:10],
        )


def _csv(content: str, path: Path) -> Iterator[tuple[str, Any]]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(content, newline=""), delimiter=delimiter)
    for row in reader:
        yield f"{path}, line {reader.line_num}", row


def _jsonl(content: str, path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield f"{path}, line {number}", json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number} is not JSON: {error}.", path=str(path), line=number) from error


def _lines(content: str, path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            yield f"{path}, line {number}", {"text": line.strip("\r")}


_READERS = {".csv": _csv, ".tsv": _csv, ".jsonl": _jsonl, ".ndjson": _jsonl}


def _example(row: Any, where: str, text: str, label: str) -> Example:
    if not isinstance(row, dict) or not isinstance(row.get(text), str):
        found = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
        raise InputError(f"{where} has no {text!r} (it has: {found}). Name the column or key that has the text.")
    given = row.get(label)
    return Example(row[text], None if given is None or given == "" else str(given))
