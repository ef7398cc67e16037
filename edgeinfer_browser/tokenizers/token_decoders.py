"""The steps from tokens back to text: each turns a list of tokens into another; the last one is joined."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Protocol

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.tokenizers.byte_level import BYTES
from edgeinfer_browser.tokenizers.patterns import Matcher

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
#: A byte as a token; the sign is accepted because Rust's number parser accepts it.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


class Decoder(Protocol):
    """One step from tokens to text."""

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""


def _cleaned(text: str) -> str:
    for untidy, tidy in _CLEANUP:
        text = text.replace(untidy, tidy)
    return text


class EachToken:
    """Changes each token on its own."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        return [*map(self._change, tokens)]


class WordPieceDecoder:
    """Joins continuing pieces to what stands before them and puts a space before every other token."""

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._prefix = prefix
        self._cleanup = cleanup

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        return [self._part(index, token) for index, token in enumerate(tokens)]

    def _part(self, index: int, token: str) -> str:
        if index:
            is_piece = token.startswith(self._prefix)
            token = token.removeprefix(self._prefix) if is_piece else f" {token}"
        return _cleaned(token) if self._cleanup else token


class ByteLevelDecoder:
    """Turns characters that stand for bytes into the text of the bytes; what is no UTF-8 becomes U+FFFD."""

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        return [b"".join(map(self._bytes, tokens)).decode("utf-8", "replace")]

    @staticmethod
    def _bytes(token: str) -> bytes:
        try:
            return bytes([BYTES[char] for char in token])
        except KeyError:
            # An added token is plain text.
            return token.encode()


class ByteFallback:
    """Turns runs of tokens such as ``<0xE2>`` into the text of these bytes, or one U+FFFD for each."""

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        found: list[str] = []
        for is_bytes, run in groupby(tokens, lambda token: bool(_BYTE.fullmatch(token))):
            part = [*run]
            found += self._decoded(part) if is_bytes else part
        return found

    @staticmethod
    def _decoded(tokens: list[str]) -> list[str]:
        try:
            return [bytes(int(token[3:5], 16) for token in tokens).decode()]
        except UnicodeDecodeError:
            return ["\ufffd"] * len(tokens)


class Fuse:
    """Joins all tokens into one."""

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        return ["".join(tokens)]


class Strip:
    """Takes up to so many of one character from the start and from the end of each token."""

    def __init__(self, content: str, start: int, stop: int) -> None:
        self._content = content
        self._start = start
        self._stop = stop

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text; raises InputError where the Rust library fails."""
        return [*map(self._stripped, tokens)]

    def _stripped(self, token: str) -> str:
        content = self._content
        first = min(len(token) - len(token.lstrip(content)), self._start)
        found = len(token) - len(token.rstrip(content))
        last = min(found, self._stop)
        if first + last > len(token) or (found == len(token) < self._stop):
            raise InputError(f"The Strip decoder cannot take {first} and {self._stop} characters from {token!r}.")
        return token[first : len(token) - last]


class MetaspaceDecoder:
    """Turns the replacement into spaces; in the first token it is dropped unless the scheme is never."""

    def __init__(self, replacement: str, scheme: str) -> None:
        self._replacement = replacement
        self._first = " " if scheme == "never" else ""

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        first = [token.replace(self._replacement, self._first) for token in tokens[:1]]
        return first + [token.replace(self._replacement, " ") for token in tokens[1:]]


class BPEDecoder:
    """Turns the suffix that ends a word into a space, but not in the last token."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        inner = [token.replace(self._suffix, " ") for token in tokens[:-1]]
        return inner + [token.replace(self._suffix, "") for token in tokens[-1:]]


class CTC:
    """Keeps one of equal neighbours and drops padding, as speech models need."""

    def __init__(self, pad_token: str, word_delimiter_token: str, cleanup: bool) -> None:
        self._pad_token = pad_token
        self._delimiter = word_delimiter_token
        self._cleanup = cleanup

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        return [part for part in (self._changed(token) for token, _ in groupby(tokens)) if part]

    def _changed(self, token: str) -> str:
        token = token.replace(self._pad_token, "")
        return _cleaned(token).replace(self._delimiter, " ") if self._cleanup else token


class Replace(EachToken):
    """Puts a text in place of each match of a pattern, token by token."""

    def __init__(self, pattern: Matcher, content: str) -> None:
        super().__init__(self._replaced)
        self._pattern = pattern
        self._content = content

    def _replaced(self, token: str) -> str:
        parts: list[str] = []
        done = 0
        for start, end in self._pattern.spans(token):
            parts += (token[done:start], self._content)
            done = end
        return "".join((*parts, token[done:]))


class DecoderSequence:
    """Several decoders, one after the other."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self._decoders = decoders

    def chain(self, tokens: Sequence[str]) -> list[str]:
        """The tokens, one step nearer to text."""
        found = [*tokens]
        for decoder in self._decoders:
            found = decoder.chain(found)
        return found
