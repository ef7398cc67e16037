"""The Unigram model: of all ways to cut a word into pieces, the one whose scores add up to the most (Viterbi).

The search follows SentencePiece as the Rust library does it: a character that is no piece is taken as an unknown one,
at the lowest score less 10; neighbouring unknown pieces become one; of equal sums the longer last piece stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from edgeinfer_browser.errors import InputError, TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.normalized import Span
from edgeinfer_browser.tokenizers.unigram_pieces import Lengths, Scores, checked
from edgeinfer_browser.tokenizers.wordpiece import Pieces

#: How much worse than the worst piece an unknown character is (``kUnkPenalty`` in SentencePiece).
_UNKNOWN_PENALTY = 10.0


class Unigram:
    """As in T5 and XLM-R: pieces with scores; what has no piece becomes the unknown token, or its bytes."""

    def __init__(self, scores: dict[str, float], unk_id: int | None = None, byte_fallback: bool = False) -> None:
        if unk_id is not None and not 0 <= unk_id < len(scores):
            message = f"Unigram in tokenizer.json has unk_id = {unk_id}, but {len(scores)} pieces."
            raise TokenizerError(message, option="unk_id")
        #: Token to id.
        self.vocab: dict[str, int] = dict(zip(scores, range(len(scores)), strict=True))
        self._scores = Scores(scores)
        self._unk = None if unk_id is None else next(islice(scores, unk_id, None))
        self._unk_id = unk_id
        self._unk_score = self._scores.lowest() - _UNKNOWN_PENALTY
        self._byte_fallback = byte_fallback
        self._lengths = Lengths(self.vocab)

    @classmethod
    def from_spec(cls, spec: Spec) -> Unigram:
        """Make the model from its part of ``tokenizer.json``."""
        check_options("Unigram", spec, "vocab", "unk_id", "byte_fallback")
        unk_id = option("Unigram", spec, "unk_id", int, type(None)) if "unk_id" in spec else None
        byte_fallback = option("Unigram", spec, "byte_fallback", bool) if "byte_fallback" in spec else False
        return cls(checked(option("Unigram", spec, "vocab", list)), unk_id, byte_fallback)

    def tokenize(self, word: str) -> Pieces:
        """The tokens of one word, not empty; raises InputError if there is no unknown token but a need of one."""
        ids: list[int] = []
        tokens: list[str] = []
        spans: list[Span] = []
        for span in self._fused(word, _path(self._best_starts(word))):
            token = word[span[0] : span[1]]
            # Unknown pieces next to each other may make up one that is known.
            found = self.vocab.get(token)
            parts = [(token, self._unknown_id() if found is None else found)]
            if found is None and self._byte_fallback:
                parts = self._bytes(token) or parts
            for part, key in parts:
                ids.append(key)
                tokens.append(part)
                spans.append(span)
        return tuple(ids), tuple(tokens), tuple(spans)

    def _best_starts(self, word: str) -> list[int]:
        """For each place in the word where the last piece of the best way there begins."""
        size, vocab, piece_scores, lengths = len(word), self.vocab, self._scores, self._lengths
        starts = [-1] * (size + 1)
        sums = [0.0] * (size + 1)
        for start in range(size):
            here, char = sums[start], word[start]
            end = start + 1
            is_known = char in vocab
            score = here + (piece_scores[char] if is_known else self._unk_score)
            if starts[end] < 0 or score > sums[end]:
                if not is_known:
                    self._unknown_id()
                starts[end], sums[end] = start, score
            for length in lengths[word[start : start + 2]]:
                end = start + length
                if end > size:
                    break
                piece = word[start:end]
                if piece in vocab:
                    score = here + piece_scores[piece]
                    if starts[end] < 0 or score > sums[end]:
                        starts[end], sums[end] = start, score
        return starts

    def _fused(self, word: str, spans: Iterable[Span]) -> Iterator[Span]:
        """The spans, unknown ones that are neighbours as one; the unknown token itself counts as unknown."""
        first = None
        for start, end in spans:
            is_unknown = self._unk is not None and self._is_unknown(word[start:end])
            if first is not None and not is_unknown:
                yield first, start
                first = None
            if not is_unknown:
                yield start, end
            elif first is None:
                first = start
        if first is not None:
            yield first, len(word)

    def _is_unknown(self, piece: str) -> bool:
        return piece == self._unk or (len(piece) == 1 and piece not in self.vocab)

    def _unknown_id(self) -> int:
        if self._unk_id is None:
            raise InputError("The text has a character that the tokenizer lacks, and there is no unknown token.")
        return self._unk_id

    def _bytes(self, token: str) -> list[tuple[str, int]]:
        """The tokens of the bytes, none if one of them is missing."""
        names = [f"<0x{byte:02X}>" for byte in token.encode()]
        return [(name, self.vocab[name]) for name in names] if all(name in self.vocab for name in names) else []


def _path(starts: list[int]) -> list[Span]:
    """The spans of the pieces of the best way to the end."""
    spans = []
    end = len(starts) - 1
    while end > 0:
        spans.append((starts[end], end))
        end = starts[end]
    spans.reverse()
    return spans
