"""Words that were met before, with their tokens: texts repeat themselves."""

from __future__ import annotations

from collections.abc import Callable

from edgeinfer_browser.tokenizers.byte_level import origins, to_chars
from edgeinfer_browser.tokenizers.wordpiece import Pieces

#: Words remembered; when so many were met, all are forgotten.
_SIZE = 20_000
#: Longer words are not worth their memory: without a pre-tokenizer they are whole sentences.
_LONGEST = 64

Tokenize = Callable[[str], Pieces]


class KnownWords(dict[str, Pieces]):
    """Word to its tokens, worked out when first asked for; for a known word no Python runs."""

    def __init__(self, tokenize: Tokenize) -> None:
        super().__init__()
        self._tokenize = tokenize

    def __missing__(self, word: str) -> Pieces:
        pieces = self._tokenize(word)
        if len(word) <= _LONGEST:
            if len(self) >= _SIZE:
                self.clear()
            self[word] = pieces
        return pieces


def of_bytes(tokenize: Tokenize) -> Tokenize:
    """The same for a model that sees the bytes of a word as characters; the places are those of the word's own."""

    def tokenize_bytes(word: str) -> Pieces:
        ids, tokens, spans = tokenize(to_chars(word))
        if not word.isascii():
            owners = origins(word)
            spans = tuple([(owners[start], owners[end - 1] + 1) for start, end in spans])
        return ids, tokens, spans

    return tokenize_bytes
