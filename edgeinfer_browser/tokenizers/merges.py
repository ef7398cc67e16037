"""Merges: which neighbouring symbols of byte-pair encoding become one, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.long_words import LongWord

#: Words of more symbols are merged as a linked list; shorter ones are faster with plain lists.
_SHORT = 100


class Merges:
    """The merge table. Symbols are ids; a pair is ``left * size + right``, a result ``rank * size + id``."""

    def __init__(self, pairs: Sequence[Sequence[str]], vocab: Mapping[str, int], prefix: str) -> None:
        self._size = size = max(vocab.values(), default=0) + 1
        self._table: dict[int, int] = {}
        cut = len(prefix)
        try:
            for rank, (left, right) in enumerate(pairs):
                pair = vocab[left] * size + vocab[right]
                self._table[pair] = rank * size + vocab[left + right[cut:]]
        except KeyError as error:
            message = (
                f"Merge {rank} of BPE, {left!r} and {right!r}, needs the token {error.args[0]!r}, which is unknown."
            )
            raise TokenizerError(message, merge=rank, token=error.args[0]) from error

    def apply(self, symbols: list[int], starts: list[int]) -> None:
        """Merge in place; ``starts`` has the place where each symbol begins."""
        if len(symbols) > _SHORT:
            self._apply_to_long(symbols, starts)
        elif len(symbols) > 1:
            self._apply_to_short(symbols, starts)

    def _apply_to_short(self, symbols: list[int], starts: list[int]) -> None:
        size, find = self._size, self._table.get
        # Above every rank.
        never = len(self._table) * size + size * size
        results = [find(left * size + right, never) for left, right in pairwise(symbols)]
        while results and (best := min(results)) < never:
            place = results.index(best)
            symbol = symbols[place] = best % size
            del symbols[place + 1], starts[place + 1], results[place]
            if place:
                results[place - 1] = find(symbols[place - 1] * size + symbol, never)
            if place < len(results):
                results[place] = find(symbol * size + symbols[place + 1], never)

    def _apply_to_long(self, symbols: list[int], starts: list[int]) -> None:
        word = LongWord(symbols, self._table, self._size)
        word.merge()
        starts[:] = [start for start, symbol in zip(starts, symbols, strict=True) if symbol >= 0]
        symbols[:] = [symbol for symbol in symbols if symbol >= 0]
