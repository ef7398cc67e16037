"""Decoders by ``type``: each turns tokens back into text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option

#: What clean-up undoes in each token, in this order.
_CLEANUP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


class Decoder(Protocol):
    """Turns tokens back into text."""

    def decode(self, tokens: Sequence[str]) -> str:
        """The text of the tokens."""


class WordPieceDecoder:
    """Joins continuing pieces to what stands before them and puts a space before every other token."""

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._prefix = prefix
        self._cleanup = cleanup

    def decode(self, tokens: Sequence[str]) -> str:
        """The text of the tokens."""
        return "".join(self._part(index, token) for index, token in enumerate(tokens))

    def _part(self, index: int, token: str) -> str:
        if index:
            is_piece = token.startswith(self._prefix)
            token = token.removeprefix(self._prefix) if is_piece else f" {token}"
        if self._cleanup:
            for untidy, tidy in _CLEANUP:
                token = token.replace(untidy, tidy)
        return token


def _wordpiece(spec: Spec) -> Decoder:
    check_options("WordPiece decoder", spec, "prefix", "cleanup")
    prefix = option("WordPiece decoder", spec, "prefix", str)
    return WordPieceDecoder(prefix, option("WordPiece decoder", spec, "cleanup", bool))


#: Every decoder this package knows, by its ``type``.
DECODERS: Mapping[str, Callable[[Spec], Decoder]] = {"WordPiece": _wordpiece}


def decoder(spec: Spec) -> Decoder:
    """The decoder that ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("decoder", spec, DECODERS)
