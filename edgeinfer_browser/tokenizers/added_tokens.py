"""Added tokens: those taken out of a text before, or just after, it is normalised, and never split by the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option
from edgeinfer_browser.tokenizers.normalized import NormalizedString
from edgeinfer_browser.tokenizers.normalizers import Normalizer
from edgeinfer_browser.tokenizers.unicode import code_points, is_word

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")

#: A part of a text: an added token with its id, or None and a stretch for the model.
Part = tuple[int | None, NormalizedString]


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token as ``tokenizer.json`` lists it."""

    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False

    @classmethod
    def from_spec(cls, spec: Spec) -> AddedToken:
        """Make it from an entry of ``added_tokens``."""
        check_options("added token", spec, "id", "content", *_FLAGS)
        flags = (option("added token", spec, flag, bool) for flag in _FLAGS)
        return cls(option("added token", spec, "content", str), *flags)


class AddedVocabulary:
    """The added tokens of a tokenizer, their ids, and how to find them in a text."""

    def __init__(self, tokens: Iterable[AddedToken], vocab: Mapping[str, int], normalizer: Normalizer | None) -> None:
        #: Tokens that the model's vocabulary lacks; they get the ids after it, as in the Rust library.
        self.ids: dict[str, int] = {}
        #: What an id reads as: the normal form of a token that is looked for in normalised text.
        self.contents: dict[int, str] = {}
        #: Contents that decoding may skip.
        self.special: set[str] = set()
        self._normalizer = normalizer
        self._tokens: dict[int, AddedToken] = {}
        for token in tokens:
            if token.content:
                self._add(token, vocab)
        self._raw, self._normal = (self._finder(normalized) for normalized in (False, True))

    def _add(self, token: AddedToken, vocab: Mapping[str, int]) -> None:
        key = vocab.get(token.content)
        if key is None:
            key = self.ids.setdefault(token.content, len(vocab) + len(self.ids))
        self._tokens[key] = token
        self.contents[key] = self._form(token)
        if token.special:
            self.special.add(token.content)

    def _form(self, token: AddedToken) -> str:
        string = NormalizedString(token.content)
        if token.normalized and self._normalizer:
            self._normalizer.normalize(string)
        if not string.normalized:
            message = f"The normalizer leaves nothing of the added token {token.content!r} in tokenizer.json."
            raise TokenizerError(message, token=token.content)
        return string.normalized

    def _finder(self, normalized: bool) -> _Finder:
        found: dict[str, int] = {}
        # Two tokens may have one normal form; the special one, then the first one, has it.
        special_first = sorted(self._tokens.items(), key=lambda item: not item[1].special)
        for key, token in special_first:
            if token.normalized == normalized:
                found.setdefault(self.contents[key], key)
        return _Finder(found, self._tokens)

    def split(self, text: str) -> Iterator[Part]:
        """The parts of a text in order, none empty; parts without an id are normalised."""
        for token, part in self._raw.split(NormalizedString(text)):
            if token is not None:
                yield token, part
                continue
            if self._normalizer:
                self._normalizer.normalize(part)
            yield from self._normal.split(part)


class _Finder:
    """Finds tokens in a text: the leftmost, and of those that begin there the longest."""

    def __init__(self, ids: Mapping[str, int], tokens: Mapping[int, AddedToken]) -> None:
        self._ids = ids
        self._tokens = tokens
        longest_first = sorted(filter(None, ids), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def split(self, string: NormalizedString) -> Iterator[Part]:
        text, done = string.normalized, 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            key = self._ids[match.group()]
            token = self._tokens[key]
            start, end = match.span()
            if token.single_word and not _stands_alone(text, start, end):
                continue
            if token.lstrip:
                start = max(done, _space_before(text, start))
            if token.rstrip:
                end = _space_after(text, end)
            if done < start:
                yield None, string.slice(done, start)
            yield key, string.slice(start, end)
            done = end
        if done == 0 and text:
            # In the Rust library this is a slice, too: it begins where its first character comes from.
            if string.starts:
                string.shift = string.starts[0]
            yield None, string
        elif done < len(text):
            yield None, string.slice(done, len(text))


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (start and is_word(text[start - 1])) and not (end < len(text) and is_word(text[end]))


def _space_before(text: str, start: int) -> int:
    while start and text[start - 1] in code_points("WHITE_SPACE"):
        start -= 1
    return start


def _space_after(text: str, end: int) -> int:
    while end < len(text) and text[end] in code_points("WHITE_SPACE"):
        end += 1
    return end
