"""What a tokenizer and its encodings offer, whichever implementation is behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

#: One sequence: a text, or a list of words when it is already split.
TextInput = str | Sequence[str]


class EncodingLike(Protocol):
    """The tokens of one sequence or pair; Encoding says what each column holds."""

    def __len__(self) -> int: ...
    @property
    def ids(self) -> list[int]:
        """Token ids."""

    @property
    def type_ids(self) -> list[int]:
        """Token types, 0 for the first sequence and 1 for the second in BERT."""

    @property
    def attention_mask(self) -> list[int]:
        """1, and 0 for padding."""

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special tokens and padding."""

    @property
    def tokens(self) -> list[str]:
        """The tokens themselves."""

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) in code points of the text."""

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the word in its sequence."""

    @property
    def sequence_ids(self) -> list[int | None]:
        """0 or 1, None for special tokens."""

    @property
    def n_sequences(self) -> int:
        """1 or 2."""

    @property
    def overflowing(self) -> Sequence[EncodingLike]:
        """The windows that truncation cut off."""


class TokenizerLike(Protocol):
    """Text to ids and back; Tokenizer says what each method does."""

    @property
    def implementation(self) -> str:
        """``"rust"`` or ``"python"``."""

    def encode(
        self,
        sequence: TextInput,
        pair: TextInput | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> EncodingLike:
        """Encode one text or a pair of texts; raises InputError."""

    def encode_batch(
        self,
        input: Sequence[Any],  # noqa: A002 (the binding's name)
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Sequence[EncodingLike]:
        """Encode several texts or ``(text, pair)`` tuples; raises InputError."""

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of some ids."""

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The text of each list of ids."""

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""

    def id_to_token(self, id: int) -> str | None:  # noqa: A002 (the binding's name)
        """The token with an id, or None."""

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The options of truncation, or None when it is off."""

    @property
    def padding(self) -> dict[str, Any] | None:
        """The options of padding, or None when it is off."""

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Keep at most ``max_length`` tokens; raises UnknownNameError for another strategy or direction."""

    def no_truncation(self) -> None:
        """Switch truncation off."""

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

    def no_padding(self) -> None:
        """Switch padding off."""
