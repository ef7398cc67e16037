"""Details: the columns of an encoding that a person reads and no model does, computed when one is first read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Offsets = tuple[int, int]


class DetailColumns(NamedTuple):
    """One entry per token in each; Encoding says what they hold."""

    tokens: list[str]
    word_ids: list[int | None]
    offsets: list[Offsets]
    special_tokens_mask: list[int]


class Details:
    """The columns, or how to compute them. Encodings of the same tokens share one, so it never changes."""

    __slots__ = ("_columns",)

    def __init__(self, columns: DetailColumns | Callable[[], DetailColumns]) -> None:
        self._columns = columns

    @property
    def columns(self) -> DetailColumns:
        """All four; when they are computed, what they were computed from is let go."""
        columns = self._columns
        if callable(columns):
            columns = self._columns = columns()
        return columns

    def window(self, start: int, end: int) -> Details:
        """A copy of those of the tokens from ``start`` to ``end``."""

        def columns() -> DetailColumns:
            tokens, word_ids, offsets, mask = self.columns
            return DetailColumns(tokens[start:end], word_ids[start:end], offsets[start:end], mask[start:end])

        return Details(columns)

    def __eq__(self, other: object) -> bool:
        return self.columns == other.columns if isinstance(other, Details) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of lists

    def __repr__(self) -> str:
        return repr(self.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return Details, (self.columns,)


def joined(parts: Sequence[Details]) -> Details:
    """The columns of all parts, one after the other."""

    def columns() -> DetailColumns:
        tokens, word_ids, offsets, mask = found = DetailColumns([], [], [], [])
        for part in parts:
            more = part.columns
            tokens += more.tokens
            word_ids += more.word_ids
            offsets += more.offsets
            mask += more.special_tokens_mask
        return found

    return Details(columns)
