"""Columns: where the tokens of one sequence are gathered."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from edgeinfer_browser.tokenizers.details import DetailColumns, Details, Offsets
from edgeinfer_browser.tokenizers.encoding import Encoding
from edgeinfer_browser.tokenizers.normalized import NormalizedString, Span
from edgeinfer_browser.tokenizers.wordpiece import Pieces


class _Words(NamedTuple):
    """Words of a string: where each begins, and its pieces. They are numbered from ``number``, or all are ``word``."""

    string: NormalizedString
    number: int
    word: int | None
    found: list[tuple[int, Pieces]]


class Columns:
    """Ids, which grow word by word, and what the other columns are computed from."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._words: list[_Words] = []

    def add_words(
        self,
        string: NormalizedString,
        spans: Iterable[Span],
        tokenize: Callable[[str], Pieces],
        index: int,
        word: int | None,
        enough: int | None,
    ) -> int:
        """Add the tokens of words, until there are more than enough; the index after the last word.

        The string may not change any more.
        """
        text, ids = string.normalized, self.ids
        most = sys.maxsize if enough is None else enough
        found: list[tuple[int, Pieces]] = []
        for start, end in spans:
            pieces = tokenize(text[start:end])
            found.append((start, pieces))
            ids += pieces[0]
            if len(ids) > most:
                break
        self._words.append(_Words(string, index, word, found))
        return index + len(found)

    def encoding(self, type_id: int) -> Encoding:
        """What was gathered, as an encoding of ordinary tokens: mask 1, not special."""
        size = len(self.ids)
        return Encoding(self.ids, [type_id] * size, [1] * size, Details(self._details))

    def _details(self) -> DetailColumns:
        tokens: list[str] = []
        word_ids: list[int | None] = []
        offsets: list[Offsets] = []
        for string, number, word, found in self._words:
            places: list[Span] = []
            for index, (start, (_, names, spans)) in enumerate(found, number):
                tokens += names
                for first, last in spans:
                    word_ids.append(index if word is None else word)
                    places.append((start + first, start + last))
            offsets += string.spans(places)
        # Not as many as there are ids now: padding may have made these more since.
        return DetailColumns(tokens, word_ids, offsets, [0] * len(tokens))
