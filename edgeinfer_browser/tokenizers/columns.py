"""Columns: where the tokens of one sequence are gathered."""

from __future__ import annotations

from edgeinfer_browser.tokenizers.encoding import Encoding, Offsets, fresh
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.wordpiece import Pieces


class Columns:
    """Lists that grow word by word. Most words are one token, so that case is kept short."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.tokens: list[str] = []
        self.word_ids: list[int | None] = []
        self.offsets: list[Offsets] = []

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
