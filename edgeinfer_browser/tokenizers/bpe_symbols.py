"""The symbols that byte-pair encoding starts with: a word's characters, bytes for unknown ones, or ``unk_token``."""

from __future__ import annotations

from typing import NamedTuple

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.byte_level import origins


class Symbols(NamedTuple):
    """Ids; where each begins and, at last, where the last one ends; and the characters of these places.

    ``owners`` is None when places are those of characters.
    """

    ids: list[int]
    places: list[int]
    owners: list[int] | None


class SymbolTable:
    """Finds the symbols of words."""

    def __init__(
        self,
        vocab: dict[str, int],
        prefix: str,
        suffix: str,
        unk_token: str | None,
        *,
        fuse_unk: bool,
        byte_fallback: bool,
    ) -> None:
        self._vocab = vocab
        self._prefix = prefix
        self._suffix = suffix
        self._unk_token = unk_token
        self._fuse_unk = fuse_unk
        self._byte_fallback = byte_fallback

    def of(self, word: str) -> Symbols:
        """The symbols of a word; raises TokenizerError when it needs a missing ``unk_token``."""
        find = self._vocab.get
        ids = [*map(find, self._parts(word) if self._prefix or self._suffix else word)]
        known = [symbol for symbol in ids if symbol is not None]
        if len(known) == len(word):
            return Symbols(known, [*range(len(word) + 1)], None)
        return self._with_unknown(word, ids)

    def _parts(self, word: str) -> list[str]:
        parts = [self._prefix + char for char in word]
        parts[0] = word[0]
        parts[-1] += self._suffix
        return parts

    def _with_unknown(self, word: str, ids: list[int | None]) -> Symbols:
        row = _Row()
        for char, symbol in zip(word, ids, strict=True):
            size = len(char.encode())
            if symbol is not None:
                row.settle()
                row.add(symbol, size)
            elif found := self._bytes_of(char):
                # An unknown character that waits to be fused with the next one is overtaken by these.
                for each in found:
                    row.add(each, 1)
            elif self._unk_token is not None:
                if not self._fuse_unk:
                    row.settle()
                row.wait(self._unk(self._unk_token), size)
        row.settle()
        # As in the Rust library, places are counted in bytes, and a character without a token takes none:
        # what follows it is then placed too far in front.
        return Symbols(row.ids, row.places, origins(word))

    def _bytes_of(self, char: str) -> list[int]:
        if not self._byte_fallback:
            return []
        found = [self._vocab.get(f"<0x{byte:02X}>") for byte in char.encode()]
        known = [symbol for symbol in found if symbol is not None]
        return known if len(known) == len(found) else []

    def _unk(self, token: str) -> int:
        if token not in self._vocab:
            raise TokenizerError(f"BPE needs its unk_token {token!r}, which its vocabulary lacks.", token=token)
        return self._vocab[token]


class _Row:
    """Symbols with their sizes in bytes, and the unknown characters that are not a symbol yet."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.places = [0]
        self._unk = 0
        self._waiting = 0

    def add(self, symbol: int, size: int) -> None:
        """Put a symbol at the end."""
        self.ids.append(symbol)
        self.places.append(self.places[-1] + size)

    def wait(self, unk: int, size: int) -> None:
        """Let an unknown character wait for those that come next."""
        self._unk = unk
        self._waiting += size

    def settle(self) -> None:
        """Make one symbol of what waits."""
        if self._waiting:
            self.add(self._unk, self._waiting)
            self._waiting = 0
