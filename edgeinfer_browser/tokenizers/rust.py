"""The Rust library behind our face: its answers unchanged, its exceptions turned into ours."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers.padding import Padding
from edgeinfer_browser.tokenizers.protocols import EncodingLike, TextInput, TokenizerLike
from edgeinfer_browser.tokenizers.truncation import Truncation


class RustTokenizer:
    """Wraps ``tokenizers.Tokenizer``; raises ImportError when that library is not installed."""

    implementation = "rust"

    def __init__(self, data: bytes) -> None:
        library = importlib.import_module("tokenizers")
        try:
            self._inner: TokenizerLike = library.Tokenizer.from_buffer(data)
        except Exception as error:
            raise TokenizerError(f"The Rust tokenizers library refused tokenizer.json: {error}.") from error

    def encode(
        self,
        sequence: TextInput,
        pair: TextInput | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> EncodingLike:
        """Encode one text or a pair of texts; raises InputError."""
        with _refusals():
            return self._inner.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self,
        input: Sequence[Any],  # noqa: A002 (the binding's name)
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Sequence[EncodingLike]:
        """Encode several texts or ``(text, pair)`` tuples; raises InputError."""
        with _refusals():
            return self._inner.encode_batch([*input], is_pretokenized, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of some ids."""
        with _refusals():
            return self._inner.decode([*ids], skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The text of each list of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        with _refusals():
            return self._inner.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:  # noqa: A002 (the binding's name)
        """The token with an id, or None."""
        with _refusals():
            return self._inner.id_to_token(id)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        with _refusals():
            return self._inner.get_vocab_size(with_added_tokens)

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The options of truncation, or None when it is off."""
        return self._inner.truncation

    @property
    def padding(self) -> dict[str, Any] | None:
        """The options of padding, or None when it is off."""
        return self._inner.padding

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Keep at most ``max_length`` tokens; raises UnknownNameError for another strategy or direction."""
        self._inner.enable_truncation(**Truncation(max_length, stride, strategy, direction).as_dict())

    def no_truncation(self) -> None:
        """Switch truncation off."""
        self._inner.no_truncation()

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Pad to ``length``, or to the longest of a batch when it is None."""
        padding = Padding(length, pad_to_multiple_of, pad_id, pad_token, pad_type_id, direction)
        self._inner.enable_padding(**padding.as_dict())

    def no_padding(self) -> None:
        """Switch padding off."""
        self._inner.no_padding()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A panic of the library (such as too large a stride) is no Exception, but must not end a server.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise InputError(f"The Rust tokenizers library refused the input: {error}.") from error
        raise
