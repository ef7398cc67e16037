"""BertNormalizer: clean, set Chinese characters apart, strip accents, lower-case; one table look-up a character."""

from __future__ import annotations

from edgeinfer_browser.tokenizers.char_table import CharTable
from edgeinfer_browser.tokenizers.normal_forms import NormalForm
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.unicode import code_points, combining_class, decompose, lower

#: Stands in the table for a mark that survives and may have to change places; never part of a text.
_MOVES = "\ud800"


class BertNormalizer:
    """As in the Rust library; ``strip_accents=None`` means: exactly when lower-casing."""

    def __init__(
        self,
        *,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        self._clean_text = clean_text
        self._handle_chinese_chars = handle_chinese_chars
        self._strip_accents = lowercase if strip_accents is None else strip_accents
        self._lowercase = lowercase
        self._decomposition = NormalForm("NFD")
        self._table = CharTable(self._change)

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        text = string.normalized
        if string.ends is not None:
            self._normalize_by_steps(string)
            return
        changed = text.translate(self._table)
        if _MOVES in changed:
            self._normalize_by_steps(string)
        elif len(changed) == len(text) and (text.isascii() or self._table.uneven.isdisjoint(text)):
            string.normalized = changed
        else:
            table = self._table
            origins = [index for index, char in enumerate(text) for _ in table[ord(char)]]
            string.realign(changed, origins)

    def _change(self, char: str) -> str:
        """What becomes of one character when no mark has to move."""
        parts = self._prepare(char)
        if self._strip_accents:
            parts = "".join(decompose(part) for part in parts)
            parts = "".join(map(_without_mark, parts))
            if any(map(combining_class, parts)):
                return _MOVES
        return "".join(map(lower, parts)) if self._lowercase else parts

    def _prepare(self, char: str) -> str:
        if self._clean_text:
            char = _cleaned(_kept(char))
        return _apart(char) if char and self._handle_chinese_chars else char

    def _normalize_by_steps(self, string: NormalizedString) -> None:
        if string.ends is None:
            string.map(self._prepare)
        else:
            self._prepare_by_steps(string)
        if self._strip_accents:
            self._decomposition.normalize(string)
            string.map(_without_mark)
        if self._lowercase:
            string.map(lower)

    def _prepare_by_steps(self, string: NormalizedString) -> None:
        # Only with characters from nowhere in front does it matter how many steps there are.
        if self._clean_text:
            string.map(_kept)
            string.map(_cleaned)
        if self._handle_chinese_chars:
            string.map(_apart)


def _kept(char: str) -> str:
    return "" if char in code_points("REMOVED") else char


def _cleaned(char: str) -> str:
    return " " if char and char in code_points("BLANK") else char


def _apart(char: str) -> str:
    return f" {char} " if char in code_points("CHINESE") else char


def _without_mark(char: str) -> str:
    return "" if char in code_points("MARK_NONSPACING") else char
