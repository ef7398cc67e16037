"""Normalizers by ``type``: each changes a NormalizedString in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from edgeinfer_browser.tokenizers.bert_normalizer import BertNormalizer
from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option, unknown
from edgeinfer_browser.tokenizers.normal_forms import NormalForm
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.patterns import literal_matcher, matcher
from edgeinfer_browser.tokenizers.precompiled import Precompiled
from edgeinfer_browser.tokenizers.simple_normalizers import (
    ByteLevel,
    CharNormalizer,
    Prepend,
    Replace,
    ReplaceLetter,
    Strip,
    with_blank,
    without_control,
    without_mark,
)
from edgeinfer_browser.tokenizers.unicode import lower


class Normalizer(Protocol):
    """Changes a NormalizedString in place and keeps its alignment with the original."""

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place; raises InputError for a text that the Rust library, too, fails on."""


class Sequence:
    """Several normalizers, one after the other."""

    def __init__(self, normalizers: list[Normalizer]) -> None:
        self._normalizers = normalizers

    def normalize(self, string: NormalizedString) -> None:
        """Change the string in place."""
        for normalizer in self._normalizers:
            normalizer.normalize(string)


def _bert(spec: Spec) -> Normalizer:
    options = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    check_options("BertNormalizer", spec, *options)
    flags = {name: option("BertNormalizer", spec, name, bool) for name in options if name != "strip_accents"}
    accents = option("BertNormalizer", spec, "strip_accents", bool, type(None))
    return BertNormalizer(strip_accents=accents, **flags)


def _sequence(spec: Spec) -> Normalizer:
    check_options("Sequence", spec, "normalizers")
    return Sequence([normalizer(part) for part in option("Sequence", spec, "normalizers", list)])


def _strip(spec: Spec) -> Normalizer:
    check_options("Strip", spec, "strip_left", "strip_right")
    left, right = (option("Strip", spec, name, bool) for name in ("strip_left", "strip_right"))
    return Strip(left=left, right=right)


def _prepend(spec: Spec) -> Normalizer:
    check_options("Prepend", spec, "prepend")
    return Prepend(option("Prepend", spec, "prepend", str))


def _replace(spec: Spec) -> Normalizer:
    check_options("Replace", spec, "pattern", "content")
    pattern, content = option("Replace", spec, "pattern", dict), option("Replace", spec, "content", str)
    kind = next(iter(pattern), "")
    if len(pattern) != 1 or kind not in ("String", "Regex"):
        raise unknown("pattern of Replace", ", ".join(pattern), frozenset(("Regex", "String")))
    text = option("Replace", pattern, kind, str)
    if kind == "Regex":
        return Replace(matcher(text).spans, content)
    if len(text) == 1 == len(content):
        return ReplaceLetter(text, content)
    return Replace(literal_matcher(text).spans, content)


def _plain(name: str, make: Callable[[], Normalizer]) -> Callable[[Spec], Normalizer]:
    def from_spec(spec: Spec) -> Normalizer:
        check_options(name, spec)
        return make()

    return from_spec


#: Every normalizer this package knows, by its ``type``.
NORMALIZERS: Mapping[str, Callable[[Spec], Normalizer]] = {
    "BertNormalizer": _bert,
    "ByteLevel": _plain("ByteLevel", ByteLevel),
    "Lowercase": _plain("Lowercase", lambda: CharNormalizer(lower)),
    "NFC": _plain("NFC", lambda: NormalForm("NFC")),
    "NFD": _plain("NFD", lambda: NormalForm("NFD")),
    "NFKC": _plain("NFKC", lambda: NormalForm("NFKC")),
    "NFKD": _plain("NFKD", lambda: NormalForm("NFKD")),
    "Nmt": _plain("Nmt", lambda: CharNormalizer(without_control, with_blank)),
    "Precompiled": Precompiled.from_spec,
    "Prepend": _prepend,
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": _strip,
    "StripAccents": _plain("StripAccents", lambda: CharNormalizer(without_mark)),
}


def normalizer(spec: Spec) -> Normalizer:
    """The normalizer that a part of ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("normalizer", spec, NORMALIZERS)
