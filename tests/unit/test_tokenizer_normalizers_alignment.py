"""NormalizedString against the Rust library's: the text and the place of every character, after random steps."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from tokenizers import PreTokenizedString, Regex

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.patterns import matcher
from tests.conformance.tokenizer_samples import Texts

Places = list[tuple[str, tuple[int, int]]]
Step = tuple[Callable[[Any], Any], Callable[[NormalizedString], Any]]


def rust_places(text: str, change: Callable[[Any], Any]) -> Places:
    """Each character of the changed text with its place in the original, from the Rust library."""
    string = PreTokenizedString(text)
    string.normalize(change)
    string.split(lambda _, part: part.split(Regex("(?m:.)"), "isolated"))
    return [(char, place) for char, place, _ in string.get_splits("original", "char")]


def places(string: NormalizedString) -> Places:
    """The same from the port."""
    return [(char, string.span(index, index + 1)) for index, char in enumerate(string.normalized)]


def replacing(pattern: str, content: str) -> Step:
    return (
        lambda rust: rust.replace(Regex(pattern), content),
        lambda string: string.replace_spans(matcher(pattern).spans(string.normalized), content),
    )


def literally(pattern: str, content: str) -> Step:
    return lambda rust: rust.replace(pattern, content), lambda string: string.replace(pattern, content)


def plain(name: str, *arguments: Any) -> Step:
    return (
        lambda rust: getattr(rust, name)(*arguments),
        lambda string: getattr(string, name)(*arguments),
    )


def without(dropped: str) -> Step:
    return (
        lambda rust: rust.filter(lambda char: char not in dropped),
        lambda string: string.map(lambda char: "" if char in dropped else char),
    )


STEPS: dict[str, Step] = {
    "prepend": plain("prepend", "▁x"),
    "filter": without("aeiou "),
    "map": plain("map", lambda char: "_" if char == " " else char),
    "replace, literal, longer": literally("e", "..."),
    "replace, literal, same": literally(" ", "▁"),
    "replace, literal, shorter": literally("ll", "1"),
    "replace, to nothing": literally("o", ""),
    "replace, empty literal": literally("", "-"),
    "replace, regex": replacing("[a-z]+", "W"),
    "replace, start": replacing("^", "|>"),
    "replace, end": replacing("$", "<|"),
    "replace, empty or not": replacing("x*", "-"),
    "replace, empty first": replacing("|l", "-"),
    "replace, look around": replacing("(?<=l)(?=.)", "++"),
    "filter, start": without("[C hlxa"),
}


@pytest.mark.parametrize("name", STEPS)
def test_one_step(name: str) -> None:
    source = Texts(1, ["hello", "xx", "axe", "l", " "])
    for text in ["", "a", "hello", " hello axxle ", *source.texts(60)]:
        string = NormalizedString(text)
        STEPS[name][1](string)
        assert places(string) == rust_places(text, STEPS[name][0]), text


def test_several_steps() -> None:
    source = Texts(2, ["hello", "xx", "axe", "l", " "])
    compared = 0
    for text in source.texts(800):
        steps = source.random.choices([*STEPS.values()], k=source.random.randrange(2, 5))
        string = NormalizedString(text)
        try:
            _follow([step for _, step in steps], string)
        except InputError:
            # The Rust library would end the process.
            continue
        assert places(string) == rust_places(text, partial(_follow, [step for step, _ in steps])), text
        compared += 1
    assert compared > 500


def _follow(steps: list[Callable[[Any], Any]], string: Any) -> None:
    for step in steps:
        step(string)


def test_slices_know_their_place() -> None:
    source = random.Random(3)
    # Replacing at the start of a slice shows where the Rust library thinks that the slice begins.
    rust_step, step = replacing("^", "|>")
    for text in Texts(3, ["hello", "axe", " "]).texts(300):
        first = source.choice([*STEPS.values()])
        rust = PreTokenizedString(text)
        rust.normalize(first[0])
        rust.split(lambda _, part: part.split(Regex("[a-m]+"), "isolated"))
        rust.normalize(rust_step)
        rust.split(lambda _, part: part.split(Regex("(?m:.)"), "isolated"))
        string = NormalizedString(text)
        first[1](string)
        parts = [string.slice(*piece) for piece in _pieces(string.normalized)]
        for part in parts:
            step(part)
        wanted = [(char, place) for char, place, _ in rust.get_splits("original", "char")]
        assert [place for part in parts for place in places(part)] == wanted, text


def _pieces(text: str) -> list[tuple[int, int]]:
    bounds = sorted({0, len(text), *(edge for match in re.finditer("[a-m]+", text) for edge in match.span())})
    return [*pairwise(bounds)]


def test_nothing_is_stored_while_nothing_moves() -> None:
    string = NormalizedString("Hello World", 5)
    string.map(str.lower)
    string.replace(" ", "▁")
    part = string.slice(6, 11)
    assert (part.normalized, part.span(0, 5), part.starts) == ("world", (11, 16), None)
