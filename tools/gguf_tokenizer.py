"""The byte-level BPE tokenizer inside a GGUF file, as a ``tokenizer.json``.

The layout is that of the GGUF specification, version 3: a header, then key-value pairs, little-endian throughout.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

#: GGUF value type -> its code for struct; 8 is a string and 9 an array.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
#: ``tokenizer.ggml.token_type`` of a control token.
_CONTROL = 3


def read_metadata(file: IO[bytes]) -> dict[str, Any]:
    """The key-value pairs at the beginning of a GGUF file; raises ValueError for another kind of file."""
    magic, version, _, pairs = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version not in (2, 3):
        raise ValueError(f"not a GGUF file of version 2 or 3: {magic!r}, {version}")
    return {_string(file): _value(file, _number(file, "I")) for _ in range(pairs)}


def _number(file: IO[bytes], code: str) -> Any:
    return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))[0]


def _string(file: IO[bytes]) -> str:
    return file.read(_number(file, "Q")).decode("utf-8")


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == 8:
        return _string(file)
    if kind != 9:
        return _number(file, _NUMBERS[kind])
    kind, count = _number(file, "I"), _number(file, "Q")
    read: Callable[[], Any] = (lambda: _string(file)) if kind == 8 else (lambda: _value(file, kind))
    return [read() for _ in range(count)]


def byte_level_bpe(
    vocab: Mapping[str, int], merges: Sequence[str], special: Sequence[str], *pre_tokenizers: Mapping[str, Any]
) -> str:
    """The text of a ``tokenizer.json`` as GPT-2 has it; ``pre_tokenizers`` stand before ByteLevel."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    sequence = {"type": "Sequence", "pretokenizers": [*pre_tokenizers, byte_level]}
    model: dict[str, Any] = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None}
    model |= {"end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    spec = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocab[token], "content": token} | flags for token in special],
        "normalizer": None,
        "pre_tokenizer": sequence if pre_tokenizers else byte_level,
        "post_processor": None if pre_tokenizers else byte_level,
        "decoder": byte_level,
        "model": model | {"vocab": vocab, "merges": merges},
    }
    return json.dumps(spec, ensure_ascii=False)


def tokenizer_json(file: IO[bytes]) -> str:
    """The ``tokenizer.json`` of a GGUF file whose pre-tokenizer is SmolLM2's: single digits, then GPT-2's words."""
    told = {key.removeprefix("tokenizer.ggml."): value for key, value in read_metadata(file).items()}
    if (told["model"], told["pre"]) != ("gpt2", "smollm"):
        raise ValueError(f"not a tokenizer as SmolLM2 has it: {told['model']}, {told['pre']}")
    vocab = {token: index for index, token in enumerate(told["tokens"])}
    special = [token for token, kind in zip(told["tokens"], told["token_type"], strict=True) if kind == _CONTROL]
    return byte_level_bpe(vocab, told["merges"], special, {"type": "Digits", "individual_digits": True})
