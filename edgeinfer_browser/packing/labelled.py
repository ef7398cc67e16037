"""Labelled texts to train a head on, from CSV, TSV or JSONL: one label each, or (JSONL) a list of labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.texts import read_rows


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """Texts, the labels of each (exactly one, unless ``multi_label``), and what each text is a part of."""

    texts: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    multi_label: bool = False
    #: The same for all sentences of one document, which must not be trained and tested on; None: each text is alone.
    groups: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The labels that occur, sorted."""
        return tuple(sorted({label for labels in self.labels for label in labels}))


def read_labelled(path: Path, text: str = "text", label: str = "label", group: str | None = None) -> LabelledTexts:
    """The labelled texts of a file.

    Args:
        path: a .csv, .tsv or .jsonl file, UTF-8.
        text: the column (CSV) or key (JSONL) that has the text.
        label: the column or key that has the label, or a list of labels (then all must be lists).
        group: the column or key that tells which document a text is from.

    Raises:
        InputError: when a row lacks one of them; says which row and what it has.
    """
    rows = read_rows(path)
    texts = [_string(row, text, where, "text") for where, row in rows]
    given = [_field(row, label, where, "label") for where, row in rows]
    multi_label = isinstance(given[0], list)
    labels = [_labels(value, multi_label, where) for value, (where, _) in zip(given, rows, strict=True)]
    groups = None if group is None else tuple(str(_field(row, group, where, "group")) for where, row in rows)
    return LabelledTexts(tuple(texts), tuple(labels), multi_label, groups)


def _field(row: Any, name: str, where: str, what: str) -> Any:
    value = row.get(name) if isinstance(row, dict) else None
    if value is None or value == "":
        has = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
        raise InputError(
            f"{where} has no {what}: nothing in {name!r} (it has: {has}). Name the column or key with --{what}, or "
            "leave the row out.",
            where=where,
        )
    return value


def _string(row: Any, name: str, where: str, what: str) -> str:
    value = row.get(name) if isinstance(row, dict) else None
    return value if isinstance(value, str) else str(_field(row, name, where, what))


def _labels(value: Any, multi_label: bool, where: str) -> tuple[str, ...]:
    if isinstance(value, list) != multi_label:
        raise InputError(f"{where} has the label {value!r:.60}. Either every label is a list, or none is.", where=where)
    labels: Iterable[Any] = value if multi_label else [value]
    return tuple(dict.fromkeys(map(str, labels)))
