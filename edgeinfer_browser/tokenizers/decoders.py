"""Decoders by ``type``: each turns tokens back into text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgeinfer_browser.tokenizers import token_decoders
from edgeinfer_browser.tokenizers.components import Spec, build, check_options, option
from edgeinfer_browser.tokenizers.options import metaspace_options, one_char, pattern_option
from edgeinfer_browser.tokenizers.token_decoders import Decoder


def _byte_level(spec: Spec) -> Decoder:
    check_options("ByteLevel decoder", spec, "add_prefix_space", "trim_offsets", "use_regex")
    return token_decoders.ByteLevelDecoder()


def _bpe(spec: Spec) -> Decoder:
    check_options("BPEDecoder", spec, "suffix")
    return token_decoders.BPEDecoder(option("BPEDecoder", spec, "suffix", str))


def _ctc(spec: Spec) -> Decoder:
    names = ("pad_token", "word_delimiter_token", "cleanup")
    check_options("CTC", spec, *names)
    pad, delimiter, cleanup = (option("CTC", spec, *pair) for pair in zip(names, (str, str, bool), strict=True))
    return token_decoders.CTC(pad, delimiter, cleanup)


def _metaspace(spec: Spec) -> Decoder:
    replacement, scheme, _ = metaspace_options("Metaspace decoder", spec)
    return token_decoders.MetaspaceDecoder(replacement, scheme)


def _plain(name: str, make: Callable[[], Decoder]) -> Callable[[Spec], Decoder]:
    def from_spec(spec: Spec) -> Decoder:
        check_options(name, spec)
        return make()

    return from_spec


def _replace(spec: Spec) -> Decoder:
    check_options("Replace decoder", spec, "pattern", "content")
    pattern = pattern_option("Replace decoder", spec)
    return token_decoders.Replace(pattern, option("Replace decoder", spec, "content", str))


def _sequence(spec: Spec) -> Decoder:
    check_options("Sequence decoder", spec, "decoders")
    return token_decoders.DecoderSequence([*map(decoder, option("Sequence decoder", spec, "decoders", list))])


def _strip(spec: Spec) -> Decoder:
    check_options("Strip decoder", spec, "content", "start", "stop")
    start, stop = (option("Strip decoder", spec, name, int) for name in ("start", "stop"))
    return token_decoders.Strip(one_char("Strip decoder", spec, "content"), start, stop)


def _wordpiece(spec: Spec) -> Decoder:
    check_options("WordPiece decoder", spec, "prefix", "cleanup")
    prefix = option("WordPiece decoder", spec, "prefix", str)
    return token_decoders.WordPieceDecoder(prefix, option("WordPiece decoder", spec, "cleanup", bool))


#: Every decoder this package knows, by its ``type``.
DECODERS: Mapping[str, Callable[[Spec], Decoder]] = {
    "BPEDecoder": _bpe,
    "ByteFallback": _plain("ByteFallback", token_decoders.ByteFallback),
    "ByteLevel": _byte_level,
    "CTC": _ctc,
    "Fuse": _plain("Fuse", token_decoders.Fuse),
    "Metaspace": _metaspace,
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": _strip,
    "WordPiece": _wordpiece,
}


def decoder(spec: Spec) -> Decoder:
    """The decoder that ``tokenizer.json`` describes; raises TokenizerError for an unknown one."""
    return build("decoder", spec, DECODERS)
