"""Tokenizer: ``tokenizer.json`` at work, in the standard library alone; the names are those of the Rust binding."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers.added_tokens import AddedToken, AddedVocabulary
from edgeinfer_browser.tokenizers.columns import Columns
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.decoders import decoder
from edgeinfer_browser.tokenizers.encoding import Encoding
from edgeinfer_browser.tokenizers.known_words import KnownWords, of_bytes
from edgeinfer_browser.tokenizers.models import model
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.normalizers import normalizer
from edgeinfer_browser.tokenizers.padding import Padding
from edgeinfer_browser.tokenizers.pre_tokenizers import PreTokenizer, pre_tokenizer
from edgeinfer_browser.tokenizers.processing import process
from edgeinfer_browser.tokenizers.processors import post_processor
from edgeinfer_browser.tokenizers.protocols import TextInput
from edgeinfer_browser.tokenizers.truncation import Truncation

_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
_KNOWN = ("version", "truncation", "padding", "added_tokens", *_PARTS)


class Tokenizer:
    """Text to token ids and back, equal to the Rust ``tokenizers`` for every file that it accepts."""

    implementation = "python"

    def __init__(self, spec: Spec) -> None:
        check_options("the file", spec, *_KNOWN)
        if spec.get("version") != "1.0":
            raise TokenizerError(f"tokenizer.json has version {spec.get('version')!r}; known: '1.0'.")
        parts = {name: spec.get(name) for name in _PARTS}
        self._normalizer = normalizer(parts["normalizer"]) if parts["normalizer"] else None
        self._pre_tokenizer = pre_tokenizer(parts["pre_tokenizer"]) if parts["pre_tokenizer"] else PreTokenizer([])
        self._model = model(parts["model"] or {})
        tokenize = self._model.tokenize
        self._known_words = KnownWords(of_bytes(tokenize) if self._pre_tokenizer.ends_in_bytes else tokenize)
        self._processor = post_processor(parts["post_processor"]) if parts["post_processor"] else None
        self._decoder = decoder(parts["decoder"]) if parts["decoder"] else None
        added = option("the file", {"added_tokens": None, **spec}, "added_tokens", list, type(None))
        self._added = AddedVocabulary(map(AddedToken.from_spec, added or ()), self._model.vocab, self._normalizer)
        self._tokens = {key: token for token, key in self._model.vocab.items()}
        self._truncation = Truncation.from_spec(spec["truncation"]) if spec.get("truncation") else None
        self._padding = Padding.from_spec(spec["padding"]) if spec.get("padding") else None

    @classmethod
    def from_str(cls, text: str) -> Tokenizer:
        """Make a tokenizer from the text of ``tokenizer.json``; raises TokenizerError for what it may not say."""
        try:
            spec = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TokenizerError(f"tokenizer.json is not JSON: {error}.") from error
        if not isinstance(spec, dict):
            raise TokenizerError("tokenizer.json should hold an object.")
        return cls(spec)

    @classmethod
    def from_buffer(cls, data: bytes) -> Tokenizer:
        """Make a tokenizer from the bytes of ``tokenizer.json`` (UTF-8)."""
        try:
            text = bytes(data).decode("utf-8")
        except UnicodeDecodeError as error:
            raise TokenizerError(f"tokenizer.json is not UTF-8: {error}.") from error
        return cls.from_str(text)

    @classmethod
    def from_file(cls, path: str | Path) -> Tokenizer:
        """Make a tokenizer from a ``tokenizer.json`` on disk."""
        return cls.from_buffer(Path(path).read_bytes())

    # -- text to ids

    def encode(
        self,
        sequence: TextInput,
        pair: TextInput | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Encode one text or a pair of texts; with ``is_pretokenized`` each is a list of words.

        Raises InputError for another kind of input and for truncation options that cannot be met.
        """
        is_pair = pair is not None
        added = self._processor.added_tokens(is_pair) if self._processor and add_special_tokens else 0
        enough = self._truncation.enough(added) if self._truncation and not is_pair else None
        first = self._encode_sequence(sequence, is_pretokenized, 0, enough)
        second = None if pair is None else self._encode_sequence(pair, is_pretokenized, 1, None)
        if self._truncation:
            first, second = self._truncation.apply(first, second, added)
        encoding = process(self._processor, first, second, add_special_tokens)
        if self._padding:
            self._padding.apply([encoding])
        return encoding

    def encode_batch(
        self,
        input: Sequence[Any],  # noqa: A002 (the binding's name)
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Encode several texts or ``(text, pair)`` tuples; padding makes them equally long."""
        pairs = [_as_pair(item, is_pretokenized) for item in input]
        encodings = [self.encode(*pair, is_pretokenized, add_special_tokens) for pair in pairs]
        if self._padding:
            self._padding.apply(encodings)
        return encodings

    def _encode_sequence(
        self, sequence: TextInput, is_pretokenized: bool, type_id: int, enough: int | None
    ) -> Encoding:
        columns = Columns()
        if is_pretokenized:
            for index, word in enumerate(_words(sequence)):
                self._encode_text(word, columns, None, index)
        elif isinstance(sequence, str):
            self._encode_text(sequence, columns, enough)
        else:
            raise InputError(f"The text to encode should be a str, not {type(sequence).__name__}.")
        encoding = columns.encoding(type_id)
        if enough is not None and len(encoding) > enough:
            encoding.whole = lambda: self._encode_sequence(sequence, is_pretokenized, type_id, None)
        return encoding

    def _encode_text(self, text: str, columns: Columns, enough: int | None, word: int | None = None) -> None:
        index = 0
        _check_scalars(text)
        for token, part in self._added.split(text):
            if token is None:
                index = self._encode_part(part, columns, enough, word, index)
            else:
                span = (0, len(part.normalized))
                pieces = ((token,), (part.normalized,), (span,))
                index = columns.add_words(part, [span], {part.normalized: pieces}.__getitem__, index, word, enough)
            if enough is not None and len(columns.ids) > enough:
                return

    def _encode_part(
        self, part: NormalizedString, columns: Columns, enough: int | None, word: int | None, index: int
    ) -> int:
        for string, spans in self._pre_tokenizer.split(part):
            index = columns.add_words(string, spans, self._known_words.__getitem__, index, word, enough)
            if enough is not None and len(columns.ids) > enough:
                break
        return index

    # -- ids to text

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of some ids; an id that does not exist is left out."""
        tokens = [token for token in map(self.id_to_token, ids) if token is not None]
        if skip_special_tokens:
            tokens = [token for token in tokens if token not in self._added.special]
        return "".join(self._decoder.chain(tokens)) if self._decoder else " ".join(tokens)

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The text of each list of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._added.ids.get(token, self._model.vocab.get(token))

    def id_to_token(self, id: int) -> str | None:  # noqa: A002 (the binding's name)
        """The token with an id, or None."""
        return self._added.contents.get(id, self._tokens.get(id))

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        return len(self._model.vocab) + (len(self._added.ids) if with_added_tokens else 0)

    # -- options

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The options of truncation, or None when it is off."""
        return self._truncation.as_dict() if self._truncation else None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The options of padding, or None when it is off."""
        return self._padding.as_dict() if self._padding else None

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Keep at most ``max_length`` tokens; the rest is in ``overflowing``, in windows sharing ``stride``."""
        self._truncation = Truncation(max_length, stride, strategy, direction)

    def no_truncation(self) -> None:
        """Switch truncation off."""
        self._truncation = None

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
        self._padding = Padding(length, pad_to_multiple_of, pad_id, pad_token, pad_type_id, direction)

    def no_padding(self) -> None:
        """Switch padding off."""
        self._padding = None


def _check_scalars(text: str) -> None:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        message = f"The text has half a surrogate pair at {error.start}, {text[error.start]!a}, which is no character."
        raise InputError(message, position=error.start) from error


def _words(sequence: TextInput) -> Sequence[str]:
    if isinstance(sequence, str) or not all(isinstance(word, str) for word in sequence):
        raise InputError("A text that is already split should be a list of str.")
    return sequence


def _as_pair(item: Any, is_pretokenized: bool) -> tuple[TextInput, TextInput | None]:
    is_single = isinstance(item, str)
    if is_pretokenized and not is_single:
        is_single = all(isinstance(word, str) for word in item)
    if is_single:
        return item, None
    if not isinstance(item, list | tuple) or len(item) != 2:
        raise InputError(f"An item of a batch should be a text or a pair of texts, not {item!r}.")
    return item[0], item[1]
