"""Models by ``type``: each turns one word into tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from edgeinfer_browser.tokenizers.bpe import BPE
from edgeinfer_browser.tokenizers.components import Spec, build
from edgeinfer_browser.tokenizers.unigram import Unigram
from edgeinfer_browser.tokenizers.word_level import WordLevel
from edgeinfer_browser.tokenizers.wordpiece import Pieces, WordPiece


class Model(Protocol):
    """Turns one word into tokens; has a vocabulary."""

    #: Token to id.
    vocab: dict[str, int]

    def tokenize(self, word: str) -> Pieces:
        """The tokens of one word, not empty."""


#: Every model this package knows, by its ``type``.
MODELS: Mapping[str, Callable[[Spec], Model]] = {
    "BPE": BPE.from_spec,
    "Unigram": Unigram.from_spec,
    "WordLevel": WordLevel.from_spec,
    "WordPiece": WordPiece.from_spec,
}


def model(spec: Spec) -> Model:
    """The model that ``tokenizer.json`` describes; raises TokenizerError for an unknown one.

    Files from before models had a ``type`` are told by an option that only one model has.
    """
    if "type" not in spec and "max_input_chars_per_word" in spec:
        return WordPiece.from_spec(spec)
    if "type" not in spec and "merges" in spec:
        return BPE.from_spec(spec)
    return build("model", spec, MODELS)
