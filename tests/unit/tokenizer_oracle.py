"""The port and the Rust library made from one description, and asked the same questions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from tokenizers import Tokenizer as Rust

from edgeinfer_browser.errors import EdgeInferError
from edgeinfer_browser.tokenizers import Tokenizer
from edgeinfer_browser.tokenizers.byte_level import CHARS
from tests.conformance.tokenizer_samples import columns

Spec = dict[str, Any]

ALPHABET = (
    "aAbBcsSkdtlre'’ \t\n\r\x0b\x1c\x85\xa0\u2003\u3000\u200b1²٣ⅷéßſ一あア한ー.,!$^€|\u0301😀👍🏽\u200d𝒜𐐀𑀀Ⓐ"
    "_-/\\▁Ġ[]\U0001f130"
)
WORDS = ["'s", "'LL", " the", "Hello", " ", "\n", "  ", "don't", "123", "一二", "▁", "WORLD", "-", "--", "...", "[CLS]"]
BLOCKS = [range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000), range(0xE0000, 0xE0200)]

#: Over bytes as characters: the tokens show what the model was given.
BYTE_VOCAB = {char: key for key, char in enumerate(dict.fromkeys(CHARS + ALPHABET))}


def with_merges(vocab: dict[str, int], merges: Sequence[str], **options: object) -> Spec:
    """A BPE model with the results of the merges added to the vocabulary."""
    found = dict(vocab)
    for merge in merges:
        found.setdefault("".join(merge.split(" ")), len(found))
    return {"type": "BPE", "vocab": found, "merges": [*merges], **options}


BPE = with_merges(BYTE_VOCAB | {"<unk>": len(BYTE_VOCAB)}, ["a b", "Ġ a", "ab a", "Ġ Ġ", "l l"], unk_token="<unk>")


def spec(**parts: object) -> Spec:
    """The contents of a ``tokenizer.json``: a small BPE and the given parts."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    return {"version": "1.0", **dict.fromkeys(names), "added_tokens": [], "model": BPE, **parts}


def added(content: str, key: int = 0, **flags: bool) -> Spec:
    """An entry of ``added_tokens``."""
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": key, "content": content, **plain, **flags}


def both(description: Spec) -> tuple[Rust, Tokenizer]:
    """The Rust library and the port."""
    text = json.dumps(description)
    return Rust.from_str(text), Tokenizer.from_str(text)


def answer(ask: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a question gives, or "refused"; a panic of the Rust library is a refusal."""
    try:
        return ask(*args, **options)
    except EdgeInferError:
        return "refused"
    except BaseException as error:
        if isinstance(error, Exception) and type(error) is not Exception:
            raise
        return "refused"


def encoded(tokenizer: Any, *args: Any, **options: Any) -> Any:
    """Every column of an encoding, or "refused"."""
    encoding = answer(tokenizer.encode, *args, **options)
    return encoding if encoding == "refused" else columns(encoding)


def random_texts(source: random.Random, count: int) -> list[str]:
    """Texts of up to 25 characters: awkward ones, words, all of Unicode, and few letters that merge."""

    def text() -> str:
        size = source.randrange(25)
        match source.randrange(5):
            case 0 | 1:
                return "".join(source.choices(ALPHABET, k=size))
            case 2:
                return "".join(chr(source.choice(source.choice(BLOCKS))) for _ in range(size))
            case 3:
                return "".join(source.choices("ab ", k=size))
            case _:
                return "".join(source.choices(WORDS, k=size))

    return [text() for _ in range(count)]


def assert_same(description: Spec, texts: Sequence[str]) -> None:
    """Every column of every text is the same in both."""
    rust, port = both(description)
    for text in texts:
        assert encoded(port, text) == encoded(rust, text), ascii(text)
