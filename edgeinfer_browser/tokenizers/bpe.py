"""The BPE model: a word's characters are merged pair by pair, in the order in which the merges were learned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.byte_level import origins
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.merges import Merges
from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.vocabulary import vocabulary
from edgeinfer_browser.tokenizers.wordpiece import Pieces

_TEXTS = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix")
_FLAGS = ("fuse_unk", "byte_fallback", "ignore_merges")
#: Words remembered with their pieces; when so many were met, all are forgotten.
_CACHE_SIZE = 20_000
#: Longer words are not remembered: without a pre-tokenizer they are whole sentences.
_LONGEST_CACHED = 64
#: What stands for a space, and the segments of a text that begin with it.
_MARK = "▁"
_SEGMENTS = re.compile("▁+[^▁]*|[^▁]+")


class BPE:
    """As in GPT-2 (over bytes as characters) and Llama (over characters, with bytes to fall back on)."""

    def __init__(
        self,
        vocab: dict[str, int],
        merges: Sequence[Sequence[str]],
        *,
        unk_token: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        fuse_unk: bool = False,
        byte_fallback: bool = False,
        ignore_merges: bool = False,
    ) -> None:
        self.vocab = vocab
        self._prefix = continuing_subword_prefix or ""
        self._suffix = end_of_word_suffix or ""
        self._unk_token = unk_token
        self._fuse_unk = fuse_unk
        self._byte_fallback = byte_fallback
        self._ignore_merges = ignore_merges
        self._merges = Merges(merges, vocab, self._prefix)
        self._tokens = {key: token for token, key in vocab.items()}
        self._cache: dict[str, Pieces] = {}
        # When no merge joins a mark to what stands before it, the segments of a word cannot meet, and each can be
        # remembered on its own. Nothing may be lost on the way, because that would shift the places.
        self._is_segmented = (
            not (self._prefix or self._suffix)
            and {_MARK, unk_token} <= vocab.keys()
            and not any(right[:1] == _MARK and left[-1:] != _MARK for left, right in merges)
        )

    @classmethod
    def from_spec(cls, spec: Spec) -> BPE:
        """Make the model from its part of ``tokenizer.json``."""
        check_options("BPE", spec, "vocab", "merges", "dropout", *_TEXTS, *_FLAGS)
        if option("BPE", {"dropout": None, **spec}, "dropout", int, float, type(None)):
            raise TokenizerError(f"BPE in tokenizer.json has dropout = {spec['dropout']}, which makes ids random.")
        spec = {**dict.fromkeys(_TEXTS), **dict.fromkeys(_FLAGS, False), **spec}
        # Files write null for flags, too.
        options: dict[str, Any] = {name: bool(option("BPE", spec, name, bool, type(None))) for name in _FLAGS}
        options |= {name: option("BPE", spec, name, str, type(None)) for name in _TEXTS}
        if options["byte_fallback"] and (options[_TEXTS[1]] or options[_TEXTS[2]]):
            raise TokenizerError(
                "BPE in tokenizer.json has byte_fallback and a prefix or suffix, which is not supported."
            )
        return cls(vocabulary("BPE", spec), _pairs(option("BPE", spec, "merges", list)), **options)

    def tokenize(self, word: str) -> Pieces:
        """The tokens of one word, not empty."""
        if self._ignore_merges and word in self.vocab:
            return (self.vocab[word],), (word,), ((0, len(word)),)
        if self._is_segmented and word.find(_MARK, 1) > 0:
            return self._tokenize_segments(word)
        return self._tokenize(word)

    def _tokenize_segments(self, word: str) -> Pieces:
        ids: list[int] = []
        tokens: list[str] = []
        spans: list[Span] = []
        for match in _SEGMENTS.finditer(word):
            place = match.start()
            part_ids, part_tokens, part_spans = self._tokenize(match.group())
            ids += part_ids
            tokens += part_tokens
            spans += [(place + start, place + end) for start, end in part_spans]
        return tuple(ids), tuple(tokens), tuple(spans)

    def _tokenize(self, word: str) -> Pieces:
        pieces = self._cache.get(word)
        if pieces is None:
            pieces = self._split(word)
            if len(word) <= _LONGEST_CACHED:
                if len(self._cache) >= _CACHE_SIZE:
                    self._cache.clear()
                self._cache[word] = pieces
        return pieces

    def _split(self, word: str) -> Pieces:
        if self._prefix or self._suffix:
            parts = [f"{self._prefix}{char}" for char in word]
            parts[0] = word[0]
            parts[-1] += self._suffix
            found = [self.vocab.get(part) for part in parts]
        else:
            found = [*map(self.vocab.get, word)]
        if None in found:
            return self._split_with_unknown(word, found)
        symbols: list[int] = found  # type: ignore[assignment]
        starts = [*range(len(word))]
        self._merges.apply(symbols, starts)
        return self._pieces(symbols, [*zip(starts, [*starts[1:], len(word)], strict=True)])

    def _pieces(self, symbols: list[int], spans: list[Span]) -> Pieces:
        return tuple(symbols), tuple(map(self._tokens.__getitem__, symbols)), tuple(spans)

    def _split_with_unknown(self, word: str, found: list[int | None]) -> Pieces:
        symbols, sizes = self._known_symbols(word, found)
        if not symbols:
            return (), (), ()
        # As in the Rust library, places are counted in bytes, and a character without a token takes none:
        # what follows it is then placed too far in front.
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + size)
        end = starts.pop()
        self._merges.apply(symbols, starts)
        owners = origins(word)
        bounds = zip(starts, [*starts[1:], end], strict=True)
        return self._pieces(symbols, [(owners[start], owners[stop - 1] + 1) for start, stop in bounds])

    def _known_symbols(self, word: str, found: list[int | None]) -> tuple[list[int], list[int]]:
        symbols: list[int] = []
        sizes: list[int] = []
        unknown = 0
        for char, symbol in zip(word, found, strict=True):
            size = len(char.encode())
            if symbol is None:
                fallback = self._bytes_of(char)
                if fallback is not None:
                    # An unknown character that waits to be fused with the next one is overtaken by these.
                    symbols += fallback
                    sizes += [1] * size
                elif self._unk_token is not None:
                    if unknown and not self._fuse_unk:
                        symbols.append(self._unk())
                        sizes.append(unknown)
                        unknown = 0
                    unknown += size
                    self._unk()
                continue
            if unknown:
                symbols.append(self._unk())
                sizes.append(unknown)
                unknown = 0
            symbols.append(symbol)
            sizes.append(size)
        if unknown:
            symbols.append(self._unk())
            sizes.append(unknown)
        return symbols, sizes

    def _bytes_of(self, char: str) -> list[int] | None:
        if not self._byte_fallback:
            return None
        found = [self.vocab.get(f"<0x{byte:02X}>") for byte in char.encode()]
        return None if None in found else found  # type: ignore[return-value]

    def _unk(self) -> int:
        key = self.vocab.get(self._unk_token or "")
        if key is None:
            message = f"BPE needs its unk_token {self._unk_token!r}, which its vocabulary lacks."
            raise TokenizerError(message, token=self._unk_token)
        return key


def _pairs(merges: Sequence[Any]) -> Sequence[Sequence[str]]:
    """Merges as pairs; in older files they are texts with one space, and may begin with a version."""
    if all(isinstance(merge, str) for merge in merges):
        merges = [merge.split(" ") for merge in merges if not merge.startswith("#version")]
    for rank, merge in enumerate(merges):
        if type(merge) is not list or len(merge) != 2 or type(merge[0]) is not str or type(merge[1]) is not str:
            raise TokenizerError(f"Merge {rank} of BPE in tokenizer.json is {merge!r}, not two tokens.", merge=rank)
    return merges
