"""Truncation: how much of each sequence stays, and the overlapping windows that the rest is cut into."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option, unknown
from edgeinfer_browser.tokenizers.encoding import Encoding

#: The names in ``tokenizer.json`` and those of the Python interface.
STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
DIRECTIONS = {"Left": "left", "Right": "right"}


@dataclass(frozen=True, slots=True)
class Truncation:
    """Keep at most ``max_length`` tokens, special ones included; windows share ``stride`` tokens."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES.values():
            raise UnknownNameError.of("truncation strategy", self.strategy, STRATEGIES.values())
        if self.direction not in DIRECTIONS.values():
            raise UnknownNameError.of("truncation direction", self.direction, DIRECTIONS.values())
        if self.max_length < 0 or self.stride < 0:
            raise InputError("Truncation needs max_length and stride of 0 or more.")

    @classmethod
    def from_spec(cls, spec: Spec) -> Truncation:
        """Make it from its part of ``tokenizer.json``."""
        check_options("truncation", spec, "direction", "max_length", "strategy", "stride")
        strategy = option("truncation", spec, "strategy", str)
        direction = spec.get("direction", "Right")
        if strategy not in STRATEGIES:
            raise unknown("truncation strategy", strategy, STRATEGIES)
        if direction not in DIRECTIONS:
            raise unknown("truncation direction", direction, DIRECTIONS)
        max_length, stride = (option("truncation", spec, name, int) for name in ("max_length", "stride"))
        return cls(max_length, stride, STRATEGIES[strategy], DIRECTIONS[direction])

    def as_dict(self) -> dict[str, Any]:
        """The options, as the Rust binding shows them."""
        return asdict(self)

    def enough(self, special_tokens: int) -> int | None:
        """How many tokens of a single sequence are worth computing; None for all of them."""
        if self.direction == "left" or self.strategy == "only_second" or special_tokens > self.max_length:
            return None
        return self.max_length - special_tokens

    def apply(self, first: Encoding, second: Encoding | None, special_tokens: int) -> tuple[Encoding, Encoding | None]:
        """Cut one or both sequences so that with the special tokens they fit; raises InputError if none can."""
        room = self.max_length - special_tokens
        # The Rust library truncates nothing when not even the special tokens fit.
        if room < 0:
            return first, second
        sizes = (len(first), len(second) if second else 0)
        excess = sum(sizes) - room
        if room and excess <= 0:
            return first, second
        keep = self._sizes(*sizes, room, second is not None)
        return self._cut(first, keep[0]), second and self._cut(second, keep[1])

    def _sizes(self, first: int, second: int, room: int, is_pair: bool) -> tuple[int, int]:
        if room == 0:
            return 0, 0
        if self.strategy == "longest_first":
            return _longest_first(first, second, room) if is_pair else (room, 0)
        excess = first + second - room
        if self.strategy == "only_second" and not is_pair:
            raise InputError("Truncation strategy only_second needs a second sequence.")
        kept = (second if self.strategy == "only_second" else first) - excess
        if kept <= 0:
            message = f"The sequence that {self.strategy} may truncate is too short for max_length."
            raise InputError(message, max_length=self.max_length)
        return (first, kept) if self.strategy == "only_second" else (kept, second)

    def _cut(self, encoding: Encoding, size: int) -> Encoding:
        total = len(encoding)
        if size >= total:
            return encoding
        if size == 0:
            return Encoding(rest=lambda: [_whole(encoding)])
        if self.stride >= size:
            message = f"stride = {self.stride} must be less than the {size} tokens that truncation leaves."
            raise InputError(message, stride=self.stride, size=size)
        kept = encoding.window(0, size) if self.direction == "right" else encoding.window(total - size, total)
        kept.rest = lambda: self._windows(_whole(encoding), size)[1:]
        return kept

    def _windows(self, encoding: Encoding, size: int) -> list[Encoding]:
        total, step = len(encoding), size - self.stride
        bounds = []
        for start in range(0, total, step):
            end = min(start + size, total)
            bounds.append((start, end))
            if end == total:
                break
        if self.direction == "left":
            bounds = [(total - end, total - start) for start, end in bounds]
        return [encoding.window(*bound) for bound in bounds]


def _whole(encoding: Encoding) -> Encoding:
    return encoding.whole() if encoding.whole else encoding


def _longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    shorter, longer = min(first, second), max(first, second)
    # The shorter one stays whole if it leaves the longer at least as much; otherwise both get half.
    longer = shorter if shorter > room else max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room // 2 + room % 2
    return (longer, shorter) if first > second else (shorter, longer)
