"""Precompiled against the Rust library: where graphemes end, any charsmap, and charsmaps that are broken."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers import unicode_tables
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.precompiled import Precompiled
from tests.charsmaps import charsmap
from tests.unit.test_tokenizer_normalizers import check
from tests.unit.test_tokenizer_unicode import edges

CLASSES = {
    name.removeprefix("GRAPHEME_"): [*edges(getattr(unicode_tables, name))]
    for name in vars(unicode_tables)
    if name.startswith("GRAPHEME_")
}
#: Characters of each class, those of few bytes more often: only graphemes of fewer than 6 bytes are looked up.
POOLS = [
    *CLASSES.values(),
    *([char for char in chars if len(char.encode()) < 4] for chars in CLASSES.values()),
    ["\u0301", "\u0308", "\u0600"],
    ["\u200d", "\u200c"],
    ["\r\n", "\r", "\n"],
    [*"ab é北א☺क가각"],
    ["🇦", "🇧"],
]
RESULTS = ("", "", "x", "xy", "é", "xyz", "\u0301", "abcde")


def spec(rules: dict[str, str]) -> dict[str, Any]:
    return {"type": "Precompiled", "precompiled_charsmap": charsmap(rules)}


def random_text(source: random.Random, size: int) -> str:
    return "".join(source.choice(source.choice(POOLS)) for _ in range(size)).replace("\0", "")


def test_random_charsmaps() -> None:
    source = random.Random(1)
    for _ in range(25):
        keys = [random_text(source, source.choice([1, 1, 1, 2, 3])) for _ in range(source.randrange(1, 40))]
        keys += source.sample(
            ["a", "b", " ", "\r", "\n", "\r\n", "\u0301", "é", "a\u0301", "\u200d", "☺", "क", "가"], 6
        )
        rules = {key: source.choice(RESULTS) for key in keys if key}
        check(spec(rules), [random_text(source, source.randrange(9)) for _ in range(200)])


@pytest.mark.parametrize("name", CLASSES)
def test_every_edge_of_a_property(name: str) -> None:
    chars = CLASSES[name]
    # The class shows in what happens to a short grapheme next to the character.
    around = ["a{}", "{}a\u0301", "{}\u0301\u0308", "{}\u200d☺\u0301", "☺{}\u200d☺\u0301"]
    around += ["क{}क\u0301", "{}\u094dक\u0301", "{}\u11a8\u0301", "{}\u1161\u0301", "{}가\u0301"]
    texts = [form.format(char) for form in around for char in chars[:: max(1, len(chars) // 150)]]
    check(spec(dict.fromkeys("a☺क가\u0301\u11a8\u1161", "X")), texts)


def test_the_shortest_key_wins() -> None:
    string = NormalizedString("abab\r\n!")
    Precompiled(base64.b64decode(charsmap({"a": "1", "ab": "2", "\r": " ", "!": ""}))).normalize(string)
    assert string.normalized == "1b1b "
    assert [string.span(index, index + 1) for index in range(5)] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


WHOLE = base64.b64decode(charsmap({"a": "é", "b": "x"}))
ARRAY_END = 4 + int.from_bytes(WHOLE[:4], "little")
BROKEN: dict[str, tuple[str, str]] = {
    "not base64": ("?", "is not base64"),
    "empty": ("", "should end at byte 4, but there are 0"),
    "cut off in the array": (
        base64.b64encode(WHOLE[:100]).decode(),
        f"should end at byte {ARRAY_END}, but there are 100",
    ),
    "cut off in the results": (base64.b64encode(WHOLE[:ARRAY_END]).decode(), "a result should begin at byte 3 of 0"),
    "cut off in a character": (base64.b64encode(WHOLE[: ARRAY_END + 1]).decode(), "its results are not UTF-8"),
    "no array": (base64.b64encode(bytes(4)).decode(), "its array has no unit 0"),
    "a wrong way": (base64.b64encode((4).to_bytes(4, "little") + b"\0\xfc\0\0").decode(), "its array has no unit"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_charsmap_is_refused_by_name(name: str) -> None:
    text, message = BROKEN[name]
    with pytest.raises(TokenizerError, match="precompiled_charsmap of Precompiled") as caught:
        Precompiled.from_spec({"type": "Precompiled", "precompiled_charsmap": text}).normalize(NormalizedString("ab"))
    assert message in str(caught.value)
