"""Normalizers by ``type``: each changes a NormalizedString in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from edgeinfer_browser.tokenizers.bert_normalizer import BertNormalizer
from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.unicode import code_points, decompose, decompose_compatible, lower


class Normalizer(Protocol):
    """Changes a NormalizedString in place and keeps its alignment with the original."""

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""


class CharNormalizer:
    """Replaces each character on its own: Lowercase, StripAccents."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self._change = change

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        string.map(self._change)


class Decomposition:
    """NFD or NFKD."""

    def __init__(self, decomposition: Callable[[str], str]) -> None:
        self._decomposition = decomposition

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        if not string.normalized.isascii():
            string.decompose(self._decomposition)


class Sequence:
    """Several normalizers, one after the other."""

    def __init__(self, normalizers: list[Normalizer]) -> None:
        self._normalizers = normalizers

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        for normalizer in self._normalizers:
            normalizer.normalize(string)


def _without_mark(char: str) -> str:
    return "" if char in code_points("MARK") else char


def _bert(spec: Spec) -> Normalizer:
    options = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    check_options("BertNormalizer", spec, *options)
    flags = {name: option("BertNormalizer", spec, name, bool) for name in options if name != "strip_accents"}
    accents = option("BertNormalizer", spec, "strip_accents", bool, type(None))
    return BertNormalizer(strip_accents=accents, **flags)


def _sequence(spec: Spec) -> Normalizer:
    check_options("Sequence", spec, "normalizers")
    return Sequence([normalizer(part) for part in option("Sequence", spec, "normalizers", list)])


def _plain(name: str, make: Callable[[], Normalizer]) -> Callable[[Spec], Normalizer]:
    def from_spec(spec: Spec) -> Normalizer:
        check_options(name, spec)
        return make()

    return from_spec


#: Every normalizer this package knows, by its ``type``.
NORMALIZERS: Mapping[str, Callable[[Spec], Normalizer]] = {
    "BertNormalizer": _bert,
    "Lowercase": _plain("Lowercase", lambda: CharNormalizer(lower)),
    "NFD": _plain("NFD", lambda: Decomposition(decompose)),
    "NFKD": _plain("NFKD", lambda: Decomposition(decompose_compatible)),
    "Sequence": _sequence,
    "StripAccents": _plain("StripAccents", lambda: CharNormalizer(_without_mark)),
}


def normalizer(spec: Spec) -> Normalizer:
    """The normalizer that a part of ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("normalizer", spec, NORMALIZERS)
