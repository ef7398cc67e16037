"""Seeded random texts from all of Unicode, and how two encodings are compared."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from edgeinfer_browser.tokenizers import EncodingLike

#: Marks of many combining classes, some of which survive accent stripping and must be put in order.
MARKS = [*range(0x300, 0x370), 0x302E, 0x302F, 0x16FF0, 0x1D165, 0x1D166, 0x1D16D, 0x5B0, 0x64B, 0x93C, 0x1037, 0x3099]

#: Stretches of code points to draw from, and how often.
BLOCKS = (
    (30, range(0x20, 0x7F)),
    (10, range(0x20, 0x21)),
    (10, range(0x00, 0x250)),
    (15, range(0x250, 0x3400)),
    (10, range(0x4E00, 0xA000)),
    (5, range(0xAC00, 0xD7A4)),
    (5, range(0x1F000, 0x1FA00)),
    (5, range(0x200B, 0x2010)),
    (2, range(0xE000, 0xF900)),
    (3, range(0xF900, 0x10000)),
    (5, range(0x10000, 0x30000)),
    (2, range(0xE0000, 0x110000)),
)

#: Whole strings that random characters would rarely make.
STRANGE = (
    "[CLS]",
    "[MASK]",
    "[mask]",
    " [SEP] ",
    "[PAD]a",
    "ΟΔΟΣ",
    "İstanbul",
    "Kantō lǜshi",
    "𠀀𠀁",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "e\u0301",
    "\u00a0\u00a0",
    "don't",
    "ﬁ",
    "\r\n\t",
    "a" * 101,
    "\x1c\x85",
)


class Texts:
    """An endless, repeatable source of texts; ``words`` are mixed in, such as a vocabulary's."""

    def __init__(self, seed: int, words: Sequence[str]) -> None:
        self.random = random.Random(seed)
        self._words = words
        self._weights, self._blocks = zip(*BLOCKS, strict=True)

    def _chars(self, count: int) -> str:
        blocks = self.random.choices(self._blocks, self._weights, k=count)
        return "".join(chr(self.random.choice(block)) for block in blocks)

    def _marked(self, count: int) -> str:
        return "".join(char + chr(self.random.choice(MARKS)) * (char > "a") for char in self._chars(count))

    def _sentence(self, count: int) -> str:
        ends = self.random.choices((" ", " ", "", "-", ", ", "\u0301"), k=count)
        return "".join(self.random.choice(self._words) + end for end in ends)

    def text(self) -> str:
        """One text, up to some 60 characters, without lone surrogates."""
        size = self.random.randrange(12)
        match self.random.randrange(6):
            case 0 | 1:
                return self._chars(3 * size)
            case 2:
                return self._marked(size)
            case 3 | 4:
                return self._sentence(size)
            case _:
                parts = [self.random.choice(STRANGE) for _ in range(3)]
                return self._chars(2).join(parts)

    def texts(self, count: int) -> list[str]:
        """Several texts."""
        return [self.text() for _ in range(count)]


def columns(encoding: EncodingLike) -> tuple[Any, ...]:
    """Everything an encoding says, its overflowing windows included, as plain values."""
    return (
        encoding.ids,
        encoding.type_ids,
        encoding.tokens,
        encoding.offsets,
        encoding.word_ids,
        encoding.sequence_ids,
        encoding.special_tokens_mask,
        encoding.attention_mask,
        [columns(window) for window in encoding.overflowing],
    )
