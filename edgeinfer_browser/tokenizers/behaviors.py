"""Behaviors of a split: what becomes of the matches of its pattern. The names are those of ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from edgeinfer_browser.tokenizers.normalized import Span

#: A stretch of text (which may be empty) and whether it is a match.
Part = tuple[int, int, bool]


def _removed(parts: Iterable[Part]) -> Iterator[Span]:
    return ((start, end) for start, end, is_match in parts if not is_match and start < end)


def _isolated(parts: Iterable[Part]) -> Iterator[Span]:
    return ((start, end) for start, end, _ in parts if start < end)


def _contiguous(parts: Iterable[Part]) -> Iterator[Span]:
    return _joined(parts, lambda is_match, was_match: is_match == was_match)


def _merged_with_previous(parts: Iterable[Part]) -> Iterator[Span]:
    return _joined(parts, lambda is_match, was_match: is_match and not was_match)


def _merged_with_next(parts: Iterable[Part]) -> Iterator[Span]:
    # The rule of merging with the previous one, read from the end.
    backwards = [(-end, -start, is_match) for start, end, is_match in parts]
    merged = [*_merged_with_previous(reversed(backwards))]
    return ((-end, -start) for start, end in reversed(merged))


def _joined(parts: Iterable[Part], joins: Callable[[bool, bool], bool]) -> Iterator[Span]:
    first, last, was_match = 0, 0, False
    is_first = True
    for start, end, is_match in parts:
        if not is_first and joins(is_match, was_match):
            last = end
        else:
            if first < last:
                yield first, last
            first, last = start, end
        is_first, was_match = False, is_match
    if first < last:
        yield first, last


#: What makes words of the parts of a text, by the name of the behavior.
BEHAVIORS: Mapping[str, Callable[[Iterable[Part]], Iterator[Span]]] = {
    "Removed": _removed,
    "Isolated": _isolated,
    "Contiguous": _contiguous,
    "MergedWithPrevious": _merged_with_previous,
    "MergedWithNext": _merged_with_next,
}
