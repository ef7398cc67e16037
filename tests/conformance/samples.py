"""Seeded random texts of every kind that tokenizers get wrong, and everyday ones in several languages.

Same seed, same texts, on every Python: nothing here asks ``unicodedata``, whose version differs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.conformance.everyday import CODE, SENTENCES
from tests.conformance.tokenizer_samples import STRANGE

#: Scripts, by one stretch each; right-to-left, Indic, Brahmic, conjoining and astral ones among them.
SCRIPTS = (
    range(0x41, 0x7B),
    range(0xC0, 0x250),
    range(0x370, 0x400),
    range(0x400, 0x530),
    range(0x531, 0x590),
    range(0x5B0, 0x5EB),
    range(0x600, 0x700),
    range(0x900, 0x980),
    range(0x980, 0xA00),
    range(0xB80, 0xC00),
    range(0xE01, 0xE5C),
    range(0xF00, 0xFD5),
    range(0x1000, 0x10A0),
    range(0x10A0, 0x1100),
    range(0x1100, 0x1200),
    range(0x1780, 0x17F0),
    range(0x1E00, 0x2000),
    range(0x3041, 0x3100),
    range(0x4E00, 0xA000),
    range(0xAC00, 0xD7A4),
    range(0xF900, 0xFB00),
    range(0xFB00, 0xFE00),
    range(0xFF01, 0xFFEF),
    range(0x10400, 0x10450),
    range(0x1D400, 0x1D800),
    range(0x20000, 0x2A6E0),
    range(0x2F800, 0x2FA20),
)

CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    *range(0x600, 0x606),
    0x61C,
    0x6DD,
    0x70F,
    0x180E,
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFE),
    0x110BD,
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    0xE0001,
    *range(0xE0020, 0xE0080),
)

#: Marks of many combining classes, some of which compose and some of which must change places.
MARKS = (
    *range(0x300, 0x370),
    *range(0x591, 0x5C8),
    *range(0x64B, 0x660),
    *range(0x93A, 0x950),
    0x9BE,
    0x9D7,
    *range(0xE31, 0xE3B),
    *range(0xF71, 0xF85),
    0x1037,
    *range(0x1AB0, 0x1AC0),
    *range(0x1DC0, 0x1E00),
    *range(0x20D0, 0x20F1),
    0x302E,
    0x302F,
    0x3099,
    0x309A,
    *range(0xFE00, 0xFE10),
    *range(0xFE20, 0xFE30),
    0x16FF0,
    0x1D165,
    0x1D166,
    0x1D16D,
    *range(0xE0100, 0xE0110),
)

#: Code points that no version has assigned, private ones, noncharacters, and those of Unicode 15, 16 and 17.
STRANGERS = (
    range(0x378, 0x37A),
    range(0x1C89, 0x1C8B),
    range(0x2FE0, 0x3000),
    range(0x31E4, 0x31F0),
    range(0xA7CB, 0xA7DD),
    range(0xE000, 0xF900),
    range(0xFDD0, 0xFDF0),
    range(0xFFF0, 0x10000),
    range(0x105C0, 0x105F4),
    range(0x10940, 0x1095A),
    range(0x10D40, 0x10D90),
    range(0x11380, 0x113E3),
    range(0x11F00, 0x11F5A),
    range(0x16100, 0x1613A),
    range(0x16D40, 0x16D7A),
    range(0x16EA0, 0x16ED4),
    range(0x1CC00, 0x1CEB4),
    range(0x1E4D0, 0x1E4FA),
    range(0x1FFFE, 0x20000),
    range(0x2EBF0, 0x2EE5E),
    range(0x323B0, 0x3347A),
    range(0x40000, 0xE0000),
    range(0xE0080, 0xE0100),
    range(0xF0000, 0x110000),
)

SPACES = (
    *range(0x9, 0xE),
    *range(0x1C, 0x21),
    0x85,
    0xA0,
    0x1680,
    0x180E,
    *range(0x2000, 0x200C),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x2060,
    0x2581,
    0x3000,
    0xFEFF,
)

_EMOJI = "😀😂🥰🤷🏃👩👨👧👦🐈🌈🔥🎉❤✈☺☎⌚🏳🏴🚀🧑🦰🍕💻🫠🫨🪿"
_TONES = ("", "", "\U0001f3fb", "\U0001f3fd", "\U0001f3ff")
_JOINED = ("👩‍👩‍👧‍👦", "🏳️‍🌈", "🏴‍☠️", "👩🏽‍💻", "🧑‍🤝‍🧑", "❤️‍🔥", "🐈‍⬛", "🏃🏿‍♀️‍➡️", "1️⃣", "#️⃣", "©️", "™")
_FLAG = 0x1F1E6
_HOSTS = (
    "example.com",
    "docs.example.org",
    "münchen.example",
    "xn--bcher-kva.example",
    "192.0.2.7:8080",
    "例え.example",
)
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»„“”‘’…–—·¿¡、。「」！？，・§¶†‡•"


class Samples:
    """An endless, repeatable source of texts; ``words`` (a vocabulary's tokens) and ``added`` tokens are mixed in."""

    def __init__(self, seed: int | str, words: Sequence[str] = (), added: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        self._words = words or ("word",)
        self._added = [*added, *STRANGE]
        self.kinds: dict[str, Callable[[], str]] = {
            "any": self.any,
            "mixed scripts": self.mixed,
            "emoji": self.emoji,
            "controls": self.controls,
            "marks": self.marks,
            "strangers": self.strangers,
            "spaces": self.spaces,
            "everyday": self.everyday,
            "url": self.url,
            "numbers": self.numbers,
            "vocabulary": self.vocabulary,
            "added": self.added,
        }

    def text(self) -> str:
        """One text, without lone surrogates: mostly of one kind, at times of several, now and then a long one."""
        kinds = self.random.choices([*self.kinds.values()], k=self.random.choices((1, 2, 20), (80, 19, 1))[0])
        return "".join(kind() for kind in kinds)

    def texts(self, count: int) -> list[str]:
        """Several texts."""
        return [self.text() for _ in range(count)]

    def any(self) -> str:
        """From the whole of Unicode, assigned or not."""
        return "".join(map(self._scalar, range(self._size(16))))

    def mixed(self) -> str:
        """Runs of several scripts, with or without something between them."""
        runs = ("".join(map(chr, self.random.choices(self._script(), k=self._size(6)))) for _ in range(self._size(6)))
        return "".join(run + self.random.choice(("", " ", " ", "-", "'")) for run in runs)

    def emoji(self) -> str:
        """Emoji with skin tones, joined ones, flags, keycaps, halves of them."""
        return "".join(self._emoji() for _ in range(self._size(8)))

    def controls(self) -> str:
        """Control and format characters among letters."""
        return self._among(CONTROLS)

    def marks(self) -> str:
        """Letters with several combining marks, in any order."""
        bases = "aAeEoOuiIсеяאبकกか가Åéﬁ ΄"
        marks = (self.random.choices(MARKS, k=self.random.randrange(4)) for _ in range(self._size(8)))
        return "".join(self.random.choice(bases) + "".join(map(chr, some)) for some in marks)

    def strangers(self) -> str:
        """Unassigned and private-use code points, noncharacters and the newest letters."""
        return self._among([self.random.choice(self.random.choice(STRANGERS)) for _ in range(6)])

    def spaces(self) -> str:
        """White space of all kinds, single and in runs, around words and punctuation."""
        parts = []
        for _ in range(self._size(6)):
            space = chr(self.random.choice(SPACES)) if self.random.random() < 0.5 else self.random.choice(" \n\t")
            parts += [space * self.random.choice((1, 1, 2, 5)), self.random.choice(("", "a", "the", "x1", "!", "\r\n"))]
        return "".join(parts)

    def everyday(self) -> str:
        """Sentences in English, French, German, Chinese, Arabic, Hindi and others, and lines of code."""
        some = self.random.choices((*SENTENCES, *CODE), k=self.random.choice((1, 1, 2)))
        text = self.random.choice((" ", "\n", "\n\n", "  ")).join(some)
        change = self.random.random()
        return text.upper() if change < 0.1 else text.title() if change < 0.15 else text

    def url(self) -> str:
        """An address on the web, of mail, or of a file."""
        letters = "".join(self.random.choices("abcxyzABC0123456789-_.~%", k=self._size(12)))
        host = self.random.choice(_HOSTS)
        forms = (f"https://{host}/{letters}?q={letters}&p=%C3%A9#{letters}", f"{letters}@{host}", f"C:\\{letters}.txt")
        return self.random.choice(forms)

    def numbers(self) -> str:
        """Numbers and contractions with punctuation."""
        parts = (
            f"{self.random.randrange(10**7):,}",
            "3.14",
            "١٢٣",
            "½",
            "²",
            "Ⅷ",
            "don't",
            "I'LL",
            "we've",
            "x'S",
            "'ſ",
        )
        return "".join(
            self.random.choice(parts) + self.random.choice(_PUNCTUATION + "    ") for _ in range(self._size(5))
        )

    def vocabulary(self) -> str:
        """Tokens of the vocabulary, with the marks of their family and without."""
        tokens = self.random.choices(self._words, k=self._size(8))
        plain = (token.strip("▁Ġ").removeprefix("##") if self.random.random() < 0.8 else token for token in tokens)
        return "".join(token + self.random.choice((" ", " ", "", "-", ", ", "\u0301")) for token in plain)

    def added(self) -> str:
        """Added tokens and strange strings, glued or not."""
        around = ("", "", " ", "  ", "a", "_", "\n", "é", "1")
        return "".join(self.random.choice(self._added) + self.random.choice(around) for _ in range(self._size(5)))

    def _size(self, most: int) -> int:
        return self.random.randrange(most + 1)

    def _scalar(self, _: int) -> str:
        code = self.random.randrange(0x110000 - 0x800)
        return chr(code if code < 0xD800 else code + 0x800)

    def _script(self) -> range:
        return self.random.choice(SCRIPTS)

    def _among(self, codes: Sequence[int]) -> str:
        chars = ((chr(self.random.choice(codes)), *self.random.choices("aB é中.", k=2)) for _ in range(self._size(6)))
        return "".join("".join(some[: self.random.choice((1, 2, 3))]) for some in chars)

    def _emoji(self) -> str:
        match self.random.randrange(6):
            case 0:
                return self.random.choice(_JOINED)
            case 1:
                return chr(_FLAG + self.random.randrange(26)) + chr(_FLAG + self.random.randrange(26))
            case 2:
                return "\u200d".join(self.random.choices(_EMOJI, k=2)) + "\ufe0f"
            case 3:
                return self.random.choice(("\u200d", "\ufe0f", "\U0001f3fe", " ", "ok", "\U000e0067\U000e007f"))
            case _:
                return self.random.choice(_EMOJI) + self.random.choice(_TONES)
