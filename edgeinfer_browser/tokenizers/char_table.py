"""CharTable: what each character becomes, worked out when it is first met; for ``str.translate``."""

from __future__ import annotations

from collections.abc import Callable

#: Characters remembered per table; a text with more different ones is only slower.
_SIZE = 20_000


class CharTable(dict[int, str]):
    """Code point to what it becomes."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change = change
        #: Characters met that become none or several.
        self.uneven: set[str] = set()

    def __missing__(self, code: int) -> str:
        char = chr(code)
        changed = self._change(char)
        if len(changed) != 1:
            self.uneven.add(char)
        if len(self) < _SIZE:
            self[code] = changed
        return changed
