"""UnicodeScripts: cuts a text where the script changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.ranges import parsed
from edgeinfer_browser.tokenizers.script_tables import SCRIPTS


class UnicodeScripts:
    """As in the Rust library: characters of no script go with what stands before them, or are dropped in front."""

    def spans(self, text: str) -> Iterator[Span]:
        """The (start, end) of each word."""
        table = _scripts()
        start, last = -1, 0
        for place, char in enumerate(text):
            script = table[char]
            if script and script != last:
                if start >= 0:
                    yield start, place
                start, last = place, script
        if start >= 0:
            yield start, len(text)


class _Scripts(dict[str, int]):
    """Character to the number of its script, 0 for none; filled as characters are met."""

    def __init__(self) -> None:
        super().__init__()
        self._ranges = [(first, last, number) for number, text in enumerate(SCRIPTS, 1) for first, last in parsed(text)]

    def __missing__(self, char: str) -> int:
        code = ord(char)
        found = self[char] = next((number for first, last, number in self._ranges if first <= code <= last), 0)
        return found


@cache
def _scripts() -> _Scripts:
    return _Scripts()
