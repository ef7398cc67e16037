"""Synthetic tokenizers: one for each component and option of ``tokenizer.json``, and combinations of real files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

from fetch_tokenizers import path_of
from tokenizers import Tokenizer as Rust

from tests.conformance import synthetic_models as models
from tests.conformance.synthetic_models import Spec

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
#: Regular expressions that real files have.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
DEEPSEEK = ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}+")
FALCON = (r"[0-9][0-9][0-9]", r"[^\w\s]+", r"\d{1,2}", r"\b", r"\S+")
PATTERNS = (GPT2, LLAMA3, O200K, CLIP, *DEEPSEEK, *FALCON)


def whole(model: Spec, **parts: Any) -> Spec:
    """A ``tokenizer.json`` of a model and some parts; its added tokens are the first three of the vocabulary."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    added = [token_(at, content, special=True) for at, content in enumerate(("<unk>", "<s>", "</s>"))]
    return {"version": "1.0", "added_tokens": added} | dict.fromkeys(names) | {"model": model} | parts


def token_(key: int, content: str, **flags: bool) -> Spec:
    """An added token."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": key, "content": content} | dict.fromkeys(names, False) | flags


def _of(kind: str, **options: Any) -> Spec:
    return {"type": kind} | options


def _combined(kind: str, **choices: tuple[Any, ...]) -> Iterator[Spec]:
    for values in product(*choices.values()):
        yield _of(kind, **dict(zip(choices, values, strict=True)))


BOTH = (True, False)


def normalizers() -> Iterator[Spec]:
    """Every normalizer with every option."""
    yield from map(_of, ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"))
    yield from _combined("Strip", strip_left=BOTH, strip_right=BOTH)
    strings = (("a", "bb"), (" ", "▁"), ("e", ""), ("the", "x"), ("aa", "a"))
    yield from (_of("Replace", pattern={"String": old}, content=new) for old, new in strings)
    regexes = (
        (r"\s+", " "),
        (r" {2,}", "▁"),
        ("[aeiou]", ""),
        (r"\p{L}+", "W"),
        (r"(.)", "$1"),
        ("``|''", '"'),
        ("$", "!"),
    )
    yield from (_of("Replace", pattern={"Regex": old}, content=new) for old, new in regexes)
    yield from (_of("Prepend", prepend=text) for text in ("▁", "xy", "é"))
    flags = dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), BOTH)
    yield from _combined("BertNormalizer", strip_accents=(None, *BOTH), **flags)
    yield charsmap()
    for names in ("NFD Lowercase StripAccents", "Nmt NFKC", "NFKC NFD", "StripAccents NFC", "Lowercase ByteLevel", ""):
        yield _of("Sequence", normalizers=[_of(name) for name in names.split()])
    yield _of("Sequence", normalizers=[charsmap(), *_real_t5()[1:]])
    llama = [_of("Prepend", prepend="▁"), _of("Replace", pattern={"String": " "}, content="▁")]
    yield _of("Sequence", normalizers=llama)
    strip = _of("Strip", strip_left=True, strip_right=True)
    yield _of("Sequence", normalizers=[_of("NFKC"), strip, _of("Lowercase"), *llama])


@cache
def _real_t5() -> list[Spec]:
    parts: list[Spec] = json.loads(path_of("t5").read_bytes())["normalizer"]["normalizers"]
    return parts


def charsmap() -> Spec:
    """SentencePiece's nmt_nfkc, as T5 has it."""
    return _real_t5()[0]


def pre_tokenizers() -> Iterator[Spec]:
    """Every pre-tokenizer with every option."""
    yield from map(_of, ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"))
    yield from _combined("Punctuation", behavior=BEHAVIORS)
    yield from _combined("Digits", individual_digits=BOTH)
    yield from _combined("Split", pattern=({"String": " "}, {"Regex": r"\s+"}), behavior=BEHAVIORS, invert=BOTH)
    texts = ("the", "a", "-", "▁", "aa")
    yield from _combined(
        "Split", pattern=tuple({"String": text} for text in texts), behavior=BEHAVIORS, invert=(False,)
    )
    patterns = tuple({"Regex": pattern} for pattern in PATTERNS)
    yield from _combined("Split", pattern=patterns, behavior=("Isolated", "Removed", "MergedWithNext"), invert=BOTH)
    yield from _combined("Metaspace", replacement=("▁", "_"), prepend_scheme=("first", "never", "always"), split=BOTH)
    yield from _combined("ByteLevel", add_prefix_space=BOTH, trim_offsets=BOTH, use_regex=BOTH)
    yield from _combined("CharDelimiterSplit", delimiter=("-", " ", "é"))
    yield from (_of("Sequence", pretokenizers=parts) for parts in _sequences())


def _sequences() -> Iterator[list[Spec]]:
    byte_level = _of("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)
    isolated = {"behavior": "Isolated", "invert": False}
    for pattern in (LLAMA3, O200K):
        yield [_of("Split", pattern={"Regex": pattern}, **isolated), byte_level]
    deepseek = [_of("Split", pattern={"Regex": pattern}, **isolated) for pattern in DEEPSEEK]
    yield [*deepseek, _of("Digits", individual_digits=True), byte_level]
    three = [_of("Split", pattern={"Regex": pattern}, **isolated) for pattern in FALCON[:1]]
    yield [
        _of("Punctuation", behavior="Contiguous"),
        byte_level | {"use_regex": True},
        _of("Digits", individual_digits=False),
        *three,
    ]
    metaspace = _of("Metaspace", replacement="▁", prepend_scheme="always", split=True)
    yield [_of("WhitespaceSplit"), metaspace]
    yield [metaspace | {"prepend_scheme": "first"}, _of("Punctuation", behavior="Isolated")]
    yield [_of("Whitespace"), _of("UnicodeScripts"), _of("Digits", individual_digits=True)]
    yield []


PREFIXED = _of("Metaspace", replacement="▁", prepend_scheme="always", split=True)
BYTE_LEVEL = _of("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)


def post_processors() -> Iterator[Spec]:
    """Every post-processor with every option."""
    pairs: Spec = {"sep": ["</s>", 2], "cls": ["<s>", 1]}
    yield _of("BertProcessing", **pairs)
    yield from (spec | pairs for spec in _combined("RobertaProcessing", trim_offsets=BOTH, add_prefix_space=BOTH))
    levels = [*_combined("ByteLevel", add_prefix_space=BOTH, trim_offsets=BOTH, use_regex=(True,))]
    yield from levels
    yield from (_of("Sequence", processors=[level, template()]) for level in levels)
    yield from (template(), _of("Sequence", processors=[]), _of("Sequence", processors=[template(), *levels[:1]]))


def template() -> Spec:
    """A template with several special tokens and odd type ids."""

    def special(name: str, key: int) -> Spec:
        return {"SpecialToken": {"id": name, "type_id": key}}

    first, second = ({"Sequence": {"id": name, "type_id": key}} for name, key in (("A", 0), ("B", 1)))
    tokens = {name: {"id": name, "ids": [key], "tokens": [name]} for name, key in (("<s>", 1), ("</s>", 2))}
    single = [special("<s>", 0), first, special("</s>", 0)]
    pair = [*single, special("</s>", 2), second, special("</s>", 1)]
    return _of("TemplateProcessing", single=single, pair=pair, special_tokens=tokens)


def decoders() -> Iterator[Spec]:
    """Every decoder with every option."""
    yield from (_of("ByteFallback"), _of("Fuse"), BYTE_LEVEL)
    yield from _combined("WordPiece", prefix=("##", ""), cleanup=BOTH)
    yield from _combined("Metaspace", replacement=("▁",), prepend_scheme=("first", "never", "always"), split=BOTH)
    yield from _combined("BPEDecoder", suffix=("</w>", ""))
    yield from _combined("CTC", pad_token=("<s>",), word_delimiter_token=("▁",), cleanup=BOTH)
    yield from _combined("Strip", content=(" ", "a"), start=(0, 1, 2), stop=(0, 1))
    yield from (_of("Replace", pattern=pattern, content=" ") for pattern in ({"String": "▁"}, {"Regex": "[▁_]+"}))
    replace = _of("Replace", pattern={"String": "▁"}, content=" ")
    strip = _of("Strip", content=" ", start=1, stop=0)
    yield _of("Sequence", decoders=[replace, _of("ByteFallback"), _of("Fuse"), strip])
    yield _of("Sequence", decoders=[replace, _of("ByteFallback"), strip])
    yield _of("Sequence", decoders=[])


def _models() -> Iterator[tuple[str, Spec]]:
    words = _of("BertPreTokenizer")
    for as_pairs in BOTH:
        yield f"BPE merges as pairs: {as_pairs}", whole(models.bpe(as_pairs=as_pairs), pre_tokenizer=words)
    for known, fuse, fallback, ignore in product((1.0, 0.3), BOTH, BOTH, BOTH):
        options: Spec = {"fuse_unk": fuse, "byte_fallback": fallback, "ignore_merges": ignore}
        for name, before in (("words", words), ("text", None)):
            spec = whole(models.bpe(known=known, **options), pre_tokenizer=before)
            yield f"BPE of {name}, {known:.0%} known, {_short(options)}", spec
    yield "BPE without unk", whole(models.bpe(known=0.3, unk_token=None), pre_tokenizer=words)
    yield "BPE without unk, fallback", whole(models.bpe(known=0.3, unk_token=None, byte_fallback=True))
    yield "BPE dropout 0", whole(models.bpe(dropout=0.0), pre_tokenizer=words)
    for fuse, ignore in product(BOTH, BOTH):
        options = {"fuse_unk": fuse, "ignore_merges": ignore, "known": 0.5}
        yield f"BPE prefix {_short(options)}", whole(models.bpe(prefix="##", **options), pre_tokenizer=words)
        yield f"BPE suffix {_short(options)}", whole(models.bpe(suffix="</w>", **options), pre_tokenizer=words)
    yield "BPE prefix and suffix", whole(models.bpe(prefix="##", suffix="</w>", known=0.5), pre_tokenizer=words)
    for ignore in BOTH:
        spec = whole(models.byte_level_bpe(ignore_merges=ignore), pre_tokenizer=BYTE_LEVEL, decoder=BYTE_LEVEL)
        yield f"byte-level BPE, ignore_merges {ignore}", spec
    for ties, fallback, before in product(BOTH, BOTH, (PREFIXED, None, _of("WhitespaceSplit"))):
        spec = whole(models.unigram(ties=ties, byte_fallback=fallback), pre_tokenizer=before, decoder=PREFIXED)
        yield f"Unigram {_short({'ties': ties, 'fallback': fallback})}, {before and before['type']}", spec
    yield "Unigram, other unk", whole(models.unigram(3, unk_id=2), pre_tokenizer=PREFIXED)
    yield "Unigram, no unk", whole(models.unigram(3, unk_id=None), pre_tokenizer=PREFIXED)
    yield "WordLevel", whole(models.word_level(), pre_tokenizer=_of("Whitespace"))
    for prefix, longest in (("##", 100), ("##", 3), ("", 100), ("@@", 5)):
        yield f"WordPiece {prefix!r} {longest}", whole(models.wordpiece(prefix, longest), pre_tokenizer=words)


def _added() -> Iterator[tuple[str, Spec]]:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    contents = ("AB", "<x>", " y", "the", "é", "▁z", "Ġ", "a b")
    kinds = {
        "Metaspace": (models.unigram(), {"pre_tokenizer": PREFIXED | {"prepend_scheme": "first"}}),
        "ByteLevel": (models.byte_level_bpe(), {"pre_tokenizer": BYTE_LEVEL, "post_processor": BYTE_LEVEL}),
        "Prepend": (models.see_all(), {"normalizer": _of("Prepend", prepend="▁")}),
        "Lowercase": (models.see_all(), {"normalizer": _of("Lowercase"), "pre_tokenizer": _of("Whitespace")}),
    }
    for (kind, (model, parts)), values in product(kinds.items(), product(BOTH, repeat=len(flags))):
        options = dict(zip(flags, values, strict=True))
        spec = whole(model, **parts)
        start = len(model["vocab"])
        tokens = [token_(start + at, content, **options) for at, content in enumerate(contents)]
        yield f"added {_short(options)}, {kind}", spec | {"added_tokens": [*spec["added_tokens"], *tokens]}


def _short(options: dict[str, Any]) -> str:
    return " ".join(name if value is True else f"{name}={value}" for name, value in options.items() if value) or "plain"


def _name(spec: Spec) -> str:
    return json.dumps(spec, ensure_ascii=True)[:150]


@cache
def cases() -> dict[str, Spec]:
    """Every synthetic tokenizer, by a name that says what is special about it."""
    see, level = models.see_all(), models.byte_level_bpe()
    found = {f"normalizer {_name(part)}": whole(see, normalizer=part) for part in normalizers()}
    for part in pre_tokenizers():
        found[f"pre_tokenizer {_name(part)}"] = whole(level if "ByteLevel" in _name(part) else see, pre_tokenizer=part)
    for part in post_processors():
        found[f"post_processor {_name(part)}"] = whole(level, pre_tokenizer=BYTE_LEVEL, post_processor=part)
    odd = ["##a", "b</w>", "▁c", "▁▁d", "Ġe", "ĠĠ", " ", "a", "aa", "'s", "n't", "Ã©", "<0xE2>", "<0x28>", "<0xA1>"]
    vocab = see["vocab"] | {token: len(see["vocab"]) + at for at, token in enumerate(odd) if token not in see["vocab"]}
    found |= {f"decoder {_name(part)}": whole(see | {"vocab": vocab}, decoder=part) for part in decoders()}
    return found | dict(_models()) | dict(_added())


def combination(seed: int) -> Spec:
    """A tokenizer of random components, which need not make sense together; its added tokens have random flags."""
    rng = random.Random(seed)
    makers = (models.see_all, models.bpe, models.byte_level_bpe, models.unigram, models.wordpiece, models.word_level)
    model = rng.choice(makers)()
    chosen = {
        # A match of nothing puts characters in front that come from nowhere, which ByteLevel does not accept.
        "normalizer": rng.choice([None, *(part for part in normalizers() if part.get("pattern") != {"Regex": "$"})]),
        "pre_tokenizer": rng.choice([None, *pre_tokenizers()]),
        "post_processor": rng.choice([None, *post_processors()]),
        "decoder": rng.choice([None, *decoders()]),
    }
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    contents = rng.sample(("AB", "<x>", " y", "the", "é", "▁z", "Ġ", "a b", "e\u0301", "ﬁ", "好", "1", "</s> a"), 5)
    start = len(model["vocab"])
    tokens = [
        token_(start + at, content, **{flag: rng.random() < 0.5 for flag in flags})
        for at, content in enumerate(_distinct(contents, chosen["normalizer"]))
    ]
    spec = whole(model, **chosen)
    return spec | {"added_tokens": [*spec["added_tokens"], *tokens]}


def _distinct(contents: list[str], normalizer: Spec | None) -> list[str]:
    """Those of different normal forms: of several with one form the Rust library takes any, by a random hash."""
    if normalizer is None:
        return contents
    rust = Rust.from_str(json.dumps(whole(models.see_all(), normalizer=normalizer))).normalizer
    forms = {rust.normalize_str(content): content for content in ("", "<unk>", "<s>", "</s>")}
    return [content for content in contents if forms.setdefault(rust.normalize_str(content), content) == content]
