"""Columns: where the tokens of one sequence are gathered."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from edgeinfer_browser.tokenizers.encoding import Encoding, Offsets, fresh
from edgeinfer_browser.tokenizers.normalized import NormalizedString, Span
from edgeinfer_browser.tokenizers.wordpiece import Pieces


class Columns:
    """Lists that grow word by word. Most words are one token, so that case is kept short."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.tokens: list[str] = []
        self.word_ids: list[int | None] = []
        self.offsets: list[Offsets] = []

    def add_words(
        self,
        string: NormalizedString,
        spans: Iterable[Span],
        tokenize: Callable[[str], Pieces],
        index: int,
        word: int | None,
        enough: int | None,
    ) -> int:
        """Add the tokens of words, until there are more than enough; the index after the last word."""
        text, ids, tokens, word_ids, offsets = string.normalized, self.ids, self.tokens, self.word_ids, self.offsets
        most, shift, is_plain = sys.maxsize if enough is None else enough, string.shift, string.starts is None
        for start, end in spans:
            pieces = tokenize(text[start:end])
            number = index if word is None else word
            if is_plain and len(pieces[0]) == 1:
                first, last = pieces[2][0]
                place = start + shift
                ids.append(pieces[0][0])
                tokens.append(pieces[1][0])
                word_ids.append(number)
                offsets.append((place + first, place + last))
            else:
                self.add(pieces, string, start, number)
            index += 1
            if len(ids) > most:
                break
        return index

    def add(self, pieces: Pieces, string: NormalizedString, start: int, word: int) -> None:
        """Add a word's tokens; the word begins at ``start`` in the normalised string."""
        ids, tokens, spans = pieces
        self.ids += ids
        self.tokens += tokens
        starts, ends = string.starts, string.ends
        if starts is None:
            start += string.shift
            self.offsets += [(start + begin, start + end) for begin, end in spans]
        elif ends is not None:
            self.offsets += [(starts[start + begin], ends[start + end - 1]) for begin, end in spans]
        else:
            self.offsets += [(starts[start + begin], starts[start + end - 1] + 1) for begin, end in spans]
        self.word_ids += [word] * len(ids)

    def encoding(self, type_id: int) -> Encoding:
        """What was gathered, as an encoding."""
        return fresh(self.ids, self.tokens, self.word_ids, self.offsets, type_id)
