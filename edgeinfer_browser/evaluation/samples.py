"""The texts a model is evaluated on: each counted once, none of them used before, labels that the model has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.texts import Example, digest_of, read_examples, require_disjoint

#: Figures from fewer texts than this come with a warning.
FEW_TEXTS = 20


@dataclass(frozen=True, slots=True)
class Samples:
    """Texts in the file's order, and their labels where every one of them has one."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] | None
    #: Texts left out because they differ from an earlier one in case and punctuation at most.
    duplicates: int
    #: Texts without a label in a file that labels others: then no label is used.
    unlabelled: int


def read_samples(path: Path, limit: int | None = None) -> Samples:
    """The texts of a file (:func:`edgeinfer_browser.packing.texts.read_examples`), the first ``limit`` of them.

    Raises:
        InputError: when the file cannot be read or has no texts, or ``limit`` is not positive.
    """
    if limit is not None and limit < 1:
        raise InputError(f"--limit {limit} leaves no texts: give 1 or more.", limit=limit)
    examples = read_examples(path)
    unique: dict[str, Example] = {}
    for example in examples:
        unique.setdefault(digest_of(example.text), example)
    kept = list(unique.values())[:limit]
    labels = [example.label for example in kept if example.label is not None]
    return Samples(
        tuple(example.text for example in kept),
        tuple(labels) if len(labels) == len(kept) else None,
        len(examples) - len(unique),
        len(kept) - len(labels) if labels else 0,
    )


def require_unused(texts: Sequence[str], manifest: Mapping[str, Any], calibration: Path | None = None) -> None:
    """Refuse texts that the model was calibrated or trained on.

    Args:
        texts: the evaluation texts.
        manifest: edgeinfer.json; digests of texts are looked for in ``calibration`` and in each head.
        calibration: a file of further texts that were used.

    Raises:
        InputError: when any text was used; says for what, and names one.
    """
    if calibration:
        require_disjoint(texts, [digest_of(each.text) for each in read_examples(calibration)], "calibration")
    for what, digests in _used(manifest):
        require_disjoint(texts, digests, what)


def _used(manifest: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    sources = {"calibration": manifest.get("calibration") or {}}
    for head in manifest.get("heads", ()):
        sources[f"training the head {head['name']!r}"] = head
    for what, source in sources.items():
        for entry in (source, *(value for value in source.values() if isinstance(value, Mapping))):
            if "digests" in entry:
                yield what, list(entry["digests"])
