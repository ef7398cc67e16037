"""Pre-tokenizers by ``type``: each cuts a normalised text into the words that the model sees one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Protocol

from edgeinfer_browser.tokenizers.components import Spec, build, check_options
from edgeinfer_browser.tokenizers.normalized import NormalizedString, Span
from edgeinfer_browser.tokenizers.unicode import code_points


class PreTokenizer(Protocol):
    """Cuts a text into words; may also rewrite the text (in place) before it does."""

    def split(self, string: NormalizedString) -> Iterable[Span]:
        """The (start, end) of each word in ``string.normalized``, in order and not empty."""


class BertPreTokenizer:
    """Splits at white space, which is dropped, and around each punctuation mark, which is a word."""

    def split(self, string: NormalizedString) -> Iterable[Span]:
        """The (start, end) of each word; found one by one, so that a caller may stop early."""
        text = string.normalized
        # The class for all of Unicode is slower, and most texts do not need it.
        words = _ascii_words() if text.isascii() else _unicode_words()
        return (match.span() for match in words.finditer(text))


def _words(space: str, punctuation: str) -> re.Pattern[str]:
    return re.compile(f"[^{space}{punctuation}]+|[{punctuation}]")


@cache
def _ascii_words() -> re.Pattern[str]:
    return _words(r"\t-\r ", r"!-/:-@\[-`{-~")


@cache
def _unicode_words() -> re.Pattern[str]:
    return _words(code_points("WHITE_SPACE").pattern(), code_points("PUNCTUATION").pattern())


def _bert(spec: Spec) -> PreTokenizer:
    check_options("BertPreTokenizer", spec)
    return BertPreTokenizer()


#: Every pre-tokenizer this package knows, by its ``type``.
PRE_TOKENIZERS: Mapping[str, Callable[[Spec], PreTokenizer]] = {"BertPreTokenizer": _bert}


def pre_tokenizer(spec: Spec) -> PreTokenizer:
    """The pre-tokenizer that ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("pre_tokenizer", spec, PRE_TOKENIZERS)
