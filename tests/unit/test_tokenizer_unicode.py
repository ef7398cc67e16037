"""Character facts at the edge of every range of the tables, asked of the Rust library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from edgeinfer_browser.tokenizers import unicode, unicode_tables
from tests.unit.test_tokenizer_port import added, spec


def edges(text: str) -> Iterator[str]:
    """The first and last character of each range, and those just outside."""
    for item in text.split():
        first, _, last = item.partition("-")
        for code in {int(first, 16) - 1, int(first, 16), int(last or first, 16), int(last or first, 16) + 1}:
            if 0 <= code < 0x110000 and not 0xD800 <= code <= 0xDFFF:
                yield chr(code)


def bert(option: str) -> Callable[[str], str]:
    options = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
    return normalizers.BertNormalizer(**(options | {option: True})).normalize_str


def words(char: str) -> int:
    return len(pre_tokenizers.BertPreTokenizer().pre_tokenize_str(f"a{char}b"))


def is_word_in_rust(char: str) -> bool:
    rust = Tokenizer.from_str(json.dumps(spec(normalizer=None, added_tokens=[added("FOO", single_word=True)])))
    return "FOO" not in rust.encode(f"{char}FOO").tokens


SETS: dict[str, Callable[[str], bool]] = {
    "REMOVED": lambda char: bert("clean_text")(char) == "",
    "BLANK": lambda char: bert("clean_text")(char) == " ",
    "CHINESE": lambda char: bert("handle_chinese_chars")(char) != char,
    "MARK_NONSPACING": lambda char: bert("strip_accents")(char) == "",
    "MARK": lambda char: normalizers.StripAccents().normalize_str(char) == "",
    "NMT_REMOVED": lambda char: normalizers.Nmt().normalize_str(char) == "",
    "NMT_BLANK": lambda char: normalizers.Nmt().normalize_str(char) == " ",
    "WHITE_SPACE": lambda char: words(char) == 2,
    "PUNCTUATION": lambda char: words(char) == 3,
}


@pytest.mark.parametrize("name", SETS)
def test_sets(name: str) -> None:
    table = unicode.CodePointSet(getattr(unicode_tables, name))
    chars = [*edges(getattr(unicode_tables, name)), "a", " ", "é"]
    assert {char for char in chars if char in table} == {char for char in chars if SETS[name](char)}


def test_word_characters() -> None:
    # A few of each kind: every question makes a tokenizer.
    chars = [*edges(unicode_tables.MORE_WORD_CHARACTERS)][::5] + list("aé_-1²Ⅷ\u0301\u200dあ北👍")
    assert [char for char in chars if unicode.is_word(char) != is_word_in_rust(char)] == []


def test_decomposition_and_lower_case() -> None:
    chars = [*edges(unicode_tables.NOT_DECOMPOSED_COMPATIBLE), *"éÅ한ﬁ①"]
    chars += [chr(code) for first, last, _ in unicode_tables.LATER_LOWERCASE for code in (first, last, last + 1)]
    for char in [*chars, *"ΣİÀ"]:
        assert unicode.decompose(char) == normalizers.NFD().normalize_str(char)
        assert unicode.decompose_compatible(char) == normalizers.NFKD().normalize_str(char)
        assert unicode.lower(char) == normalizers.Lowercase().normalize_str(char)


def test_marks_that_do_not_move_are_starters() -> None:
    for char in edges(unicode_tables.STARTERS):
        moves = normalizers.NFD().normalize_str(f"a\u0301{char}\u0334") != f"a\u0301{char}\u0334"
        assert (unicode.combining_class(char) > 0) == moves, ascii(char)
