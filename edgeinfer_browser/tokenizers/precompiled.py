"""Precompiled: SentencePiece's own normal form, a table from texts to texts that the file brings along.

The charsmap is, in base64: the size in bytes of a double array (32 bits, little-endian), the array, and the results,
each ended by a NUL. The array is that of Darts-clone; a unit holds a label (bits 0-7 and 31), whether a key ends
here (bit 8), and the way to its children (bits 10-30, in units of 256 if bit 9 is set), all to be XORed.
"""

from __future__ import annotations

import base64
import binascii
import sys
from array import array

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.graphemes import clusters
from edgeinfer_browser.tokenizers.normalized import Change, NormalizedString

_VALUE = 1 << 31
#: Graphemes of as many bytes are not looked up as a whole.
_LONG_GRAPHEME = 6
#: Characters and graphemes remembered; a text with more different ones is only slower.
_TABLE_SIZE = 20_000


class Precompiled:
    """As in the Rust library, which takes for a text the result of the *shortest* key that begins it."""

    def __init__(self, charsmap: bytes) -> None:
        self._map = CharsMap(charsmap)
        self._table = _CharTable(self._map)
        self._graphemes: dict[str, str | None] = {}

    @classmethod
    def from_spec(cls, spec: Spec) -> Precompiled:
        """Make it from its part of ``tokenizer.json``."""
        check_options("Precompiled", spec, "precompiled_charsmap")
        try:
            charsmap = base64.b64decode(option("Precompiled", spec, "precompiled_charsmap", str), validate=True)
        except (binascii.Error, ValueError) as error:
            raise _broken(f"it is not base64 ({error})") from error
        return cls(charsmap)

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        text, table = string.normalized, self._table
        changed = text.translate(table)
        whole = [
            (start, end, found)
            for start, end in clusters(text)
            if (found := self._grapheme(text[start:end])) is not None
        ]
        if string.ends is not None or whole:
            if whole or not table.known.isdisjoint(text):
                string.transform(self._changes(text, whole))
        elif len(changed) == len(text) and table.uneven.isdisjoint(text):
            string.normalized = changed
        else:
            string.transform(self._changes(text, whole))

    def _grapheme(self, grapheme: str) -> str | None:
        """What becomes of a whole grapheme, or None if its characters are on their own."""
        if len(grapheme) >= _LONG_GRAPHEME or len(grapheme.encode()) >= _LONG_GRAPHEME:
            return None
        if grapheme not in self._graphemes:
            if len(self._graphemes) >= _TABLE_SIZE:
                self._graphemes.clear()
            self._graphemes[grapheme] = self._map.find(grapheme)
        return self._graphemes[grapheme]

    def _changes(self, text: str, whole: list[tuple[int, int, str]]) -> list[Change]:
        changes: list[Change] = []
        table, done = self._table, 0
        for start, end, found in [*whole, (len(text), len(text), "")]:
            for char in text[done:start]:
                part = table[ord(char)]
                if len(part) == 1:
                    changes.append((part, 0))
                else:
                    _put(changes, 1, part)
            _put(changes, end - start, found)
            done = end
        return changes


class CharsMap:
    """The table itself."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:4], "little")
        # The Rust library counts whole units; bytes of a broken one would belong to the results.
        units_end = 4 + size // 4 * 4
        if len(data) < max(4, units_end):
            raise _broken(f"its array should end at byte {units_end}, but there are {len(data)}")
        self._units = array("I", data[4:units_end])
        if sys.byteorder == "big":
            self._units.byteswap()
        self._results = data[units_end:]
        self._check()

    def _check(self) -> None:
        try:
            self._results.decode()
        except UnicodeDecodeError as error:
            raise _broken(f"its results are not UTF-8 ({error})") from error
        # Only values have the highest bit.
        largest = max(self._units, default=0)
        if largest >= _VALUE and largest - _VALUE > len(self._results):
            raise _broken(f"a result should begin at byte {largest - _VALUE} of {len(self._results)}")

    def find(self, text: str) -> str | None:
        """The result of the shortest key that begins the text, or None."""
        units, node = self._units, 0
        try:
            node ^= _children(units[0])
            for byte in text.encode():
                node ^= byte
                unit = units[node]
                if byte == 0 or unit & (_VALUE | 0xFF) != byte:
                    return None
                node ^= _children(unit)
                if unit >> 8 & 1:
                    return self._result(units[node] & ~_VALUE)
        except IndexError:
            raise _broken(f"its array has no unit {node}") from None
        return None

    def _result(self, start: int) -> str:
        end = self._results.find(b"\0", start)
        try:
            return self._results[start : None if end < 0 else end].decode()
        except UnicodeDecodeError as error:
            raise _broken(f"a result begins inside a character, at byte {start}") from error


class _CharTable(dict[int, str]):
    """Code point to what it becomes, filled as characters are met."""

    def __init__(self, charsmap: CharsMap) -> None:
        super().__init__()
        self._map = charsmap
        #: Characters met that the map has.
        self.known: set[str] = set()
        #: Characters met that become none or several.
        self.uneven: set[str] = set()

    def __missing__(self, code: int) -> str:
        char = chr(code)
        found = self._map.find(char)
        changed = char if found is None else found
        if found is not None:
            self.known.add(char)
        if len(changed) != 1:
            self.uneven.add(char)
        if len(self) < _TABLE_SIZE:
            self[code] = changed
        return changed


def _children(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def _put(changes: list[Change], old: int, new: str) -> None:
    """Put a text in place of ``old`` characters.

    As in the Rust library: the last new ones count as inserted, and when there are fewer new ones than old the last
    change of all takes the rest along; in front of everything there is none, so the rest is not taken along.
    """
    added = len(new) - old
    kept = len(new) - max(added, 0)
    changes += [(char, int(index >= kept)) for index, char in enumerate(new)]
    if added < 0 and changes:
        char, change = changes[-1]
        changes[-1] = char, change + added


def _broken(reason: str) -> TokenizerError:
    message = f"The precompiled_charsmap of Precompiled in tokenizer.json is broken: {reason}."
    return TokenizerError(message, kind="Precompiled", option="precompiled_charsmap")
