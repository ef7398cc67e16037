"""The WordLevel model: a word is one token, or ``unk_token``."""

from __future__ import annotations

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.vocabulary import vocabulary
from edgeinfer_browser.tokenizers.wordpiece import Pieces


class WordLevel:
    """Looks words up; an ``unk_token`` outside the vocabulary is an error only where it is needed."""

    def __init__(self, vocab: dict[str, int], unk_token: str) -> None:
        self.vocab = vocab
        self._unk_token = unk_token

    @classmethod
    def from_spec(cls, spec: Spec) -> WordLevel:
        """Make the model from its part of ``tokenizer.json``."""
        check_options("WordLevel", spec, "vocab", "unk_token")
        return cls(vocabulary("WordLevel", spec), option("WordLevel", spec, "unk_token", str))

    def tokenize(self, word: str) -> Pieces:
        """The token of one word."""
        token = word if word in self.vocab else self._unk_token
        key = self.vocab.get(token)
        if key is None:
            raise TokenizerError(f"WordLevel needs its unk_token {token!r}, which its vocabulary lacks.", token=token)
        return (key,), (token,), ((0, len(word)),)
