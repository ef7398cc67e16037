"""Merging of long words, such as a megabyte of one letter: pairs wait by rank, and time grows almost linearly.

A rank's pairs merge from left to right. Most places are known from the start, in order; those that come later wait
in a heap beside them. Nothing is moved more than once, so no order of merges makes this slow.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise


class LongWord:
    """The symbols of a word as a linked list, and the pairs that wait to be merged.

    A pair is ``left * size + right``; ``table`` has its result, ``rank * size + id``.
    """

    def __init__(self, symbols: list[int], table: dict[int, int], size: int) -> None:
        count = len(symbols)
        #: Ids; -1 for a symbol that became part of the one before it.
        self.symbols = symbols
        self._table = table
        self._size = size
        self._following = [*range(1, count + 1)]
        self._before = [*range(-1, count - 1)]
        #: For each result the places where it is due: a list from last to first, and a heap of those found later.
        self._waiting: dict[int, tuple[list[int], list[int]]] = {}
        for place, (left, right) in enumerate(pairwise(symbols)):
            result = table.get(left * size + right)
            if result is not None:
                self._places(result)[0].append(place)
        for places, _ in self._waiting.values():
            places.reverse()
        self._results = sorted(self._waiting)

    def _places(self, result: int) -> tuple[list[int], list[int]]:
        found = self._waiting.get(result)
        if found is None:
            found = self._waiting[result] = ([], [])
        return found

    def merge(self) -> None:
        """Merge until no pair is left."""
        while self._results:
            result = self._results[0]
            known, later = self._waiting[result]
            if self._merge_until_lower(result, known, later):
                continue
            if later:
                known += sorted(later, reverse=True)
                later.clear()
            else:
                heappop(self._results)
                del self._waiting[result]

    def _merge_until_lower(self, result: int, known: list[int], later: list[int]) -> bool:
        """Merge the known places of a result; whether it stopped because a lower result came up."""
        symbols, following, size, find = self.symbols, self._following, self._size, self._table.get
        count, symbol = len(symbols), result % self._size
        while known:
            place = heappop(later) if later and later[0] < known[-1] else known.pop()
            right = following[place]
            # The pair may have changed since it was found.
            if right == count or symbols[place] < 0 or find(symbols[place] * size + symbols[right]) != result:
                continue
            symbols[place] = symbol
            symbols[right] = -1
            if self._join(place, right, symbol) <= result:
                return True
        return False

    def _join(self, place: int, right: int, symbol: int) -> int:
        """Take a symbol out of the list; the lowest result of the pairs that this makes."""
        symbols, size, find = self.symbols, self._size, self._table.get
        after = self._following[place] = self._following[right]
        left = self._before[place]
        lowest = None
        if after < len(symbols):
            self._before[after] = place
            lowest = find(symbol * size + symbols[after])
            if lowest is not None:
                self._wait(lowest, place)
        found = find(symbols[left] * size + symbol) if left >= 0 else None
        if found is not None:
            self._wait(found, left)
            lowest = found if lowest is None else min(found, lowest)
        return size * size * size if lowest is None else lowest

    def _wait(self, result: int, place: int) -> None:
        if result not in self._waiting:
            heappush(self._results, result)
        heappush(self._places(result)[1], place)
