"""The pieces of a Unigram vocabulary: which lengths to look for, and what they score."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from edgeinfer_browser.errors import TokenizerError


def checked(vocab: list[Any]) -> dict[str, float]:
    """The pieces of ``vocab`` with their scores; raises TokenizerError naming the first entry that is none."""
    # To ask for the sets of types and lengths is much faster than a look at every entry, and files are mostly right.
    if set(map(type, vocab)) <= {list} and set(map(len, vocab)) <= {2}:
        try:
            scores: dict[str, float] = dict(vocab)
        except TypeError:
            raise _no_piece(vocab) from None
        if set(map(type, scores)) <= {str} and set(map(type, scores.values())) <= {float, int}:
            if len(scores) == len(vocab):
                return _finite(scores)
            [(piece, _)] = Counter(piece for piece, _ in vocab).most_common(1)
            raise TokenizerError(f"Unigram in tokenizer.json has the piece {piece!r} twice.", option="vocab")
    raise _no_piece(vocab)


def _no_piece(vocab: list[Any]) -> TokenizerError:
    kinds = ([str, float], [str, int])
    places = (at for at, entry in enumerate(vocab) if not isinstance(entry, list) or [*map(type, entry)] not in kinds)
    index = next(places)
    message = f"Unigram in tokenizer.json has vocab[{index}] = {vocab[index]!r}; it should be a piece and its score."
    return TokenizerError(message, option="vocab", index=index)


def _finite(scores: dict[str, float]) -> dict[str, float]:
    largest = max(scores.values(), key=abs, default=0)
    # An int has no limit here, and JSON as Python reads it may hold NaN, which is no larger than anything.
    if abs(largest) <= sys.float_info.max and not any(map(math.isnan, scores.values())):
        return scores
    raise TokenizerError("Unigram in tokenizer.json has a score that is no finite number.", option="vocab")


class Lengths(dict[str, tuple[int, ...]]):
    """Two characters to the lengths, in order, of the pieces that begin with them; each worked out when asked for."""

    def __init__(self, pieces: Iterable[str]) -> None:
        super().__init__()
        masks: dict[str, int] = {}
        for piece in pieces:
            start = piece[:2]
            masks[start] = masks.get(start, 0) | 1 << len(piece)
        self._masks = masks

    def __missing__(self, start: str) -> tuple[int, ...]:
        mask = self._masks.get(start)
        if mask is None:
            return ()
        found = self[start] = tuple(length for length in range(2, mask.bit_length()) if mask >> length & 1)
        return found


class Scores(dict[str, float]):
    """Piece to its score as the Rust library reads it; each worked out when asked for."""

    def __init__(self, scores: dict[str, float]) -> None:
        super().__init__()
        self._scores = scores

    def __missing__(self, piece: str) -> float:
        score = self[piece] = as_rust_reads(self._scores[piece])
        return score

    def lowest(self) -> float:
        """The lowest score, as read."""
        lowest = min(self._scores.values(), default=float("inf"))
        # Reading may change the order of scores that all but agree.
        bound = lowest + abs(lowest) * 1e-12
        return min([as_rust_reads(score) for score in self._scores.values() if score <= bound], default=lowest)


def as_rust_reads(score: float) -> float:
    """The number that serde_json makes of the shortest digits of a score; it may be one bit away from the nearest.

    It takes the digits as one integer, rounds that to 53 bits, and then divides by a power of ten.
    """
    mantissa, _, exponent = repr(float(score)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) - len(fraction)
    digits = float(int(whole + fraction))
    # ``10.0**23`` is one bit away from 1e23.
    factor = float(f"1e{abs(power)}")
    return digits / factor if power < 0 else digits * factor
