"""ByteWords: a model that sees the bytes of each word as characters, remembered by the word itself."""

from __future__ import annotations

from edgeinfer_browser.tokenizers.byte_level import origins, to_chars
from edgeinfer_browser.tokenizers.models import Model
from edgeinfer_browser.tokenizers.wordpiece import Pieces

_CACHE_SIZE = 20_000
_LONGEST_CACHED = 64


class ByteWords:
    """Does the last step of ByteLevel word by word, so that the many words met before cost one look-up."""

    def __init__(self, model: Model) -> None:
        self._tokenize = model.tokenize
        self._cache: dict[str, Pieces] = {}

    def tokenize(self, word: str) -> Pieces:
        """The tokens of one word; the places are those of the word's characters."""
        pieces = self._cache.get(word)
        if pieces is None:
            pieces = self._split(word)
            if len(word) <= _LONGEST_CACHED:
                if len(self._cache) >= _CACHE_SIZE:
                    self._cache.clear()
                self._cache[word] = pieces
        return pieces

    def _split(self, word: str) -> Pieces:
        ids, tokens, spans = self._tokenize(to_chars(word))
        if not word.isascii():
            owners = origins(word)
            spans = tuple([(owners[start], owners[end - 1] + 1) for start, end in spans])
        return ids, tokens, spans
