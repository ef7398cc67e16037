"""The WordPiece model: a word becomes the longest piece that begins it, then the longest that goes on, and so on."""

from __future__ import annotations

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.vocabulary import vocabulary

#: The ids of a word's tokens, the tokens, and the (start, end) of each inside the word.
Pieces = tuple[tuple[int, ...], tuple[str, ...], tuple[Span, ...]]

_OPTIONS = ("vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word")


class WordPiece:
    """As in BERT. A word that cannot be put together, or is too long, becomes one ``unk_token``."""

    def __init__(
        self,
        vocab: dict[str, int],
        unk_token: str = "[UNK]",
        continuing_subword_prefix: str = "##",
        max_input_chars_per_word: int = 100,
    ) -> None:
        if unk_token not in vocab:
            raise TokenizerError(f"The vocabulary of WordPiece lacks its unk_token {unk_token!r}.", token=unk_token)
        self.vocab = vocab
        self._unk = ((vocab[unk_token],), (unk_token,))
        self._prefix = continuing_subword_prefix
        self._max_chars = max_input_chars_per_word
        self._longest = max(map(len, vocab))

    @classmethod
    def from_spec(cls, spec: Spec) -> WordPiece:
        """Make the model from its part of ``tokenizer.json``."""
        check_options("WordPiece", spec, *_OPTIONS)
        others = zip(_OPTIONS[1:], (str, str, int), strict=True)
        return cls(vocabulary("WordPiece", spec), *(option("WordPiece", spec, *pair) for pair in others))

    def tokenize(self, word: str) -> Pieces:
        """The tokens of one word, not empty."""
        return self._unknown(word) if len(word) > self._max_chars else self._split(word)

    def _unknown(self, word: str) -> Pieces:
        return *self._unk, ((0, len(word)),)

    def _split(self, word: str) -> Pieces:
        tokens: list[str] = []
        spans: list[Span] = []
        start, size = 0, len(word)
        while start < size:
            prefix = self._prefix if start else ""
            end = min(size, start + self._longest)
            while end > start and prefix + word[start:end] not in self.vocab:
                end -= 1
            if end == start:
                return self._unknown(word)
            tokens.append(prefix + word[start:end])
            spans.append((start, end))
            start = end
        return tuple(map(self.vocab.__getitem__, tokens)), tuple(tokens), tuple(spans)
