"""Bytes as characters: byte-level tokenizers see each byte of UTF-8 as one printable character.

The table is GPT-2's: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and following, in order.
"""

from __future__ import annotations

_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = [byte for byte in range(0x100) if byte not in _PRINTABLE]
_CODES = {byte: byte for byte in _PRINTABLE} | {byte: 0x100 + place for place, byte in enumerate(_OTHERS)}

#: The character of each byte.
CHARS = "".join(chr(_CODES[byte]) for byte in range(0x100))
#: The byte of each character.
BYTES = {char: byte for byte, char in enumerate(CHARS)}
#: For ``str.translate`` of text whose code points are bytes.
_TABLE = dict(enumerate(CHARS))


def to_chars(text: str) -> str:
    """The bytes of the text as characters."""
    if text.isascii():
        return text.translate(_TABLE)
    return text.encode().decode("latin-1").translate(_TABLE)


def origins(text: str) -> list[int]:
    """For each byte of the text the index of its character."""
    return [index for index, char in enumerate(text) for _ in char.encode()]
