"""The charsmap of SentencePiece: a table from texts to texts.

It is the size in bytes of a double array (32 bits, little-endian), the array, and the results, each ended by a NUL.
The array is that of Darts-clone; a unit holds a label (bits 0-7 and 31), whether a key ends here (bit 8), and the
way to its children (bits 10-30, in units of 256 if bit 9 is set), all to be XORed.
"""

from __future__ import annotations

import sys
from array import array

from edgeinfer_browser.errors import TokenizerError

_VALUE = 1 << 31


class CharsMap:
    """The table; raises TokenizerError, when made or when asked, for one that is broken."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:4], "little")
        # The Rust library counts whole units; bytes of a broken one would belong to the results.
        units_end = 4 + size // 4 * 4
        if len(data) < max(4, units_end):
            raise broken(f"its array should end at byte {units_end}, but there are {len(data)}")
        self._units = array("I", data[4:units_end])
        if sys.byteorder == "big":
            self._units.byteswap()
        self._results = data[units_end:]
        self._check()

    def _check(self) -> None:
        try:
            self._results.decode()
        except UnicodeDecodeError as error:
            raise broken(f"its results are not UTF-8 ({error})") from error
        # Only values have the highest bit.
        largest = max(self._units, default=0)
        if largest >= _VALUE and largest - _VALUE > len(self._results):
            raise broken(f"a result should begin at byte {largest - _VALUE} of {len(self._results)}")

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
            raise broken(f"its array has no unit {node}") from None
        return None

    def _result(self, start: int) -> str:
        end = self._results.find(b"\0", start)
        try:
            return self._results[start : None if end < 0 else end].decode()
        except UnicodeDecodeError as error:
            raise broken(f"a result begins inside a character, at byte {start}") from error


def _children(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def broken(reason: str) -> TokenizerError:
    """The error for a charsmap that is no such table."""
    message = f"The precompiled_charsmap of Precompiled in tokenizer.json is broken: {reason}."
    return TokenizerError(message, kind="Precompiled", option="precompiled_charsmap")
