"""Padding: tokens that fill encodings up to one length, masked out of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from edgeinfer_browser.errors import UnknownNameError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option, unknown
from edgeinfer_browser.tokenizers.details import joined
from edgeinfer_browser.tokenizers.encoding import Encoding, special
from edgeinfer_browser.tokenizers.truncation import DIRECTIONS

_OPTIONS = ("strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")


@dataclass(frozen=True, slots=True)
class Padding:
    """Fill up to ``length`` tokens, or to the longest of a batch when it is None."""

    length: int | None = None
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    direction: str = "right"

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS.values():
            raise UnknownNameError.of("padding direction", self.direction, DIRECTIONS.values())

    @classmethod
    def from_spec(cls, spec: Spec) -> Padding:
        """Make it from its part of ``tokenizer.json``."""
        check_options("padding", spec, *_OPTIONS)
        direction = option("padding", spec, "direction", str)
        if direction not in DIRECTIONS:
            raise unknown("padding direction", direction, DIRECTIONS)
        return cls(
            _length(option("padding", spec, "strategy", str, dict)),
            option("padding", spec, "pad_to_multiple_of", int, type(None)),
            option("padding", spec, "pad_id", int),
            option("padding", spec, "pad_token", str),
            option("padding", spec, "pad_type_id", int),
            DIRECTIONS[direction],
        )

    def as_dict(self) -> dict[str, Any]:
        """The options, as the Rust binding shows them."""
        return asdict(self)

    def apply(self, encodings: Sequence[Encoding]) -> None:
        """Pad all encodings, in place, to one length; one that is longer stays as it is."""
        if not encodings:
            return
        length = max(map(len, encodings)) if self.length is None else self.length
        if self.pad_to_multiple_of:
            length += -length % self.pad_to_multiple_of
        for encoding in encodings:
            self._pad(encoding, length)

    def _pad(self, encoding: Encoding, length: int) -> None:
        if encoding.rest:
            self._pad_rest(encoding, length)
        missing = length - len(encoding)
        if missing <= 0:
            return
        pads = special([self.pad_id] * missing, [self.pad_token] * missing, self.pad_type_id, mask=0)
        at = 0 if self.direction == "left" else len(encoding)
        encoding.ids[at:at] = pads.ids
        encoding.type_ids[at:at] = pads.type_ids
        encoding.attention_mask[at:at] = pads.attention_mask
        parts = (pads.details, encoding.details)
        encoding.details = joined(parts if self.direction == "left" else parts[::-1])
        if self.direction == "left":
            ranges = encoding.sequence_ranges.items()
            encoding.sequence_ranges = {key: (start + missing, end + missing) for key, (start, end) in ranges}

    def _pad_rest(self, encoding: Encoding, length: int) -> None:
        rest = encoding.rest

        def padded() -> list[Encoding]:
            windows = rest() if callable(rest) else rest
            for window in windows:
                self._pad(window, length)
            return windows

        encoding.rest = padded


def _length(strategy: str | dict[str, Any]) -> int | None:
    if strategy == "BatchLongest":
        return None
    if isinstance(strategy, dict) and [*strategy] == ["Fixed"]:
        length: int = option("padding strategy", strategy, "Fixed", int)
        return length
    raise unknown("padding strategy", strategy, frozenset(("BatchLongest", "Fixed")))
