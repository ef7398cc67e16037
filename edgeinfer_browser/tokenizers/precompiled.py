"""Precompiled: SentencePiece's own normal form, a charsmap that the file brings along in base64."""

from __future__ import annotations

import base64
import binascii

from edgeinfer_browser.tokenizers.char_table import CharTable
from edgeinfer_browser.tokenizers.charsmap import CharsMap, broken
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.graphemes import clusters
from edgeinfer_browser.tokenizers.normalized import Change, NormalizedString

#: Graphemes of as many bytes are not looked up as a whole.
_LONG_GRAPHEME = 6
#: Graphemes remembered; a text with more different ones is only slower.
_TABLE_SIZE = 20_000


class Precompiled:
    """As in the Rust library, which takes for a text the result of the *shortest* key that begins it."""

    def __init__(self, charsmap: bytes) -> None:
        self._map = CharsMap(charsmap)
        self._table = CharTable(self._character)
        self._graphemes: dict[str, str | None] = {}

    @classmethod
    def from_spec(cls, spec: Spec) -> Precompiled:
        """Make it from its part of ``tokenizer.json``."""
        check_options("Precompiled", spec, "precompiled_charsmap")
        try:
            charsmap = base64.b64decode(option("Precompiled", spec, "precompiled_charsmap", str), validate=True)
        except (binascii.Error, ValueError) as error:
            raise broken(f"it is not base64 ({error})") from error
        return cls(charsmap)

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        text, table = string.normalized, self._table
        changed = text.translate(table)
        found = ((start, end, self._grapheme(text[start:end])) for start, end in clusters(text))
        whole = [(start, end, new) for start, end, new in found if new is not None]
        is_even = not whole and len(changed) == len(text) and table.uneven.isdisjoint(text)
        if not is_even or (string.ends is not None and any(self._map.find(char) is not None for char in text)):
            string.transform(self._changes(text, whole))
        else:
            string.normalized = changed

    def _character(self, char: str) -> str:
        found = self._map.find(char)
        return char if found is None else found

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
