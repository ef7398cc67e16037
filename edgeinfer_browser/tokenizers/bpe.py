"""The BPE model: a word's characters are merged pair by pair, in the order in which the merges were learned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.bpe_symbols import SymbolTable
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
        prefix, suffix = continuing_subword_prefix or "", end_of_word_suffix or ""
        self._ignore_merges = ignore_merges
        self._symbols = SymbolTable(vocab, prefix, suffix, unk_token, fuse_unk=fuse_unk, byte_fallback=byte_fallback)
        self._merges = Merges(merges, vocab, prefix)
        self._tokens = {key: token for token, key in vocab.items()}
        self._cache: dict[str, Pieces] = {}
        # When no merge joins a mark to what stands before it, the segments of a word cannot meet, and each can be
        # remembered on its own. Nothing may be lost on the way, because that would shift the places.
        self._is_segmented = (
            not (prefix or suffix)
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
        ids, places, owners = self._symbols.of(word)
        if not ids:
            return (), (), ()
        end = places.pop()
        self._merges.apply(ids, places)
        bounds = zip(places, [*places[1:], end], strict=True)
        spans = bounds if owners is None else ((owners[start], owners[stop - 1] + 1) for start, stop in bounds)
        return tuple(ids), tuple(map(self._tokens.__getitem__, ids)), tuple(spans)


def _pairs(merges: Sequence[Any]) -> Sequence[Sequence[str]]:
    """Merges as pairs; in older files they are texts with one space, and may begin with a version."""
    if all(isinstance(merge, str) for merge in merges):
        merges = [merge.split(" ") for merge in merges if not merge.startswith("#version")]
    for rank, merge in enumerate(merges):
        if type(merge) is not list or len(merge) != 2 or type(merge[0]) is not str or type(merge[1]) is not str:
            raise TokenizerError(f"Merge {rank} of BPE in tokenizer.json is {merge!r}, not two tokens.", merge=rank)
    return merges
