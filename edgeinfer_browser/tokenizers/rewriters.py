"""Rewriters: the steps of pre-tokenizers that change a word in place, and never split it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from edgeinfer_browser.tokenizers.byte_level import origins, to_chars
from edgeinfer_browser.tokenizers.normalized import NormalizedString


class Rewriter(ABC):
    """Changes a string in place and keeps its alignment."""

    @abstractmethod
    def rewrite(self, string: NormalizedString) -> None:
        """Change the string in place."""


class PrefixSpace(Rewriter):
    """Puts a space in front, unless there is one."""

    def rewrite(self, string: NormalizedString) -> None:
        """Change the string in place."""
        if not string.normalized.startswith(" "):
            string.prepend(" ")


class ByteChars(Rewriter):
    """Puts characters for bytes in place of each character."""

    def rewrite(self, string: NormalizedString) -> None:
        """Change the string in place."""
        text = string.normalized
        changed = to_chars(text)
        if len(changed) == len(text):
            string.normalized = changed
        else:
            string.realign(changed, origins(text))


class Metaspaces(Rewriter):
    """Puts the replacement in place of each space, and in front as the scheme says: always, first or never."""

    def __init__(self, replacement: str, scheme: str) -> None:
        self._replacement = replacement
        self._scheme = scheme

    def rewrite(self, string: NormalizedString) -> None:
        """Change the string in place."""
        string.replace(" ", self._replacement)
        wanted = self._scheme == "always" or (self._scheme == "first" and string.shift == 0)
        if wanted and not string.normalized.startswith(self._replacement):
            string.prepend(self._replacement)
