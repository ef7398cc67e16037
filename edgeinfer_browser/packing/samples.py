"""Golden samples: the few inputs whose answers are kept in edgeinfer.json, for a tier to be proved with.

Texts are short, empty, not only ASCII, a little over 32 tokens, and as long as the model takes; pictures are small, of
odd sizes. The first is the one that proves a tier when a page loads, so it is cheap; WebGPU has to answer the one of
more than 32 tokens too (:mod:`edgeinfer_browser.backends.golden`), which is no longer than that takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeinfer_browser.backends.golden import SHORT_TOKENS
from edgeinfer_browser.manifest import tensor_to_json
from edgeinfer_browser.packing.native import feeds_of
from edgeinfer_browser.tensors import Tensor

Array = npt.NDArray[Any]

SHORT_TEXTS = ("I love it", "", "Ein schöner Tag in Zürich – naïve façade, 東京, ☕ and 👩‍👩‍👧!")
_SENTENCE = "The plot drags, the jokes fall flat, and yet the ending won me over."
#: Tokens of the long text, at most: more would make edgeinfer.json and the proof long, and show nothing new.
LONGEST = 512
#: Height and width of the pictures.
PICTURES = ((16, 24), (31, 17), (40, 61))


@dataclass(frozen=True, slots=True)
class Sample:
    """What a model is fed, and the text it was made of (None for a picture)."""

    text: str | None
    feeds: Mapping[str, Array]

    def to_json(self) -> dict[str, Any]:
        """As edgeinfer.json has it."""
        return {"text": self.text, "inputs": tensors_to_json(self.feeds)}

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Sample:
        """Read what :meth:`to_json` gave."""
        feeds = {name: np.array(t["data"], t["dtype"]).reshape(t["dims"]) for name, t in source["inputs"].items()}
        return cls(source["text"], feeds)

    def only(self, inputs: Sequence[str]) -> Sample:
        """The same sample with these inputs alone."""
        return Sample(self.text, {name: self.feeds[name] for name in inputs})


def text_samples(tokenizer: Path, inputs: Sequence[str], max_length: int) -> list[Sample]:
    """Samples of texts: arrays int64 [1, tokens]."""
    sentence = feeds_of(tokenizer, [_SENTENCE], ["input_ids"], max_length)[0]["input_ids"].shape[1]
    lengths = [SHORT_TOKENS + 1, min(LONGEST, max_length)] if max_length > SHORT_TOKENS else [max_length]
    repeats = [math.ceil(tokens / max(sentence - 2, 1)) for tokens in lengths]  # without the two special tokens
    texts = [*SHORT_TEXTS, *(" ".join([_SENTENCE] * count) for count in sorted(set(repeats)))]
    made = feeds_of(tokenizer, texts, inputs, max_length)
    return [Sample(text, feeds) for text, feeds in zip(texts, made, strict=True)]


def picture_samples() -> list[Sample]:
    """Samples of pictures: ``pixels`` uint8 [1, height, width, 3], smooth colours with some noise."""
    random = np.random.default_rng(0)
    return [Sample(None, {"pixels": _picture(height, width, random)}) for height, width in PICTURES]


def tensors_to_json(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Name -> ``{dtype, dims, data}``; a float32 is written with the few digits that tell it from its neighbours."""
    return {
        name: {**tensor_to_json(Tensor.from_numpy(array)), "data": [_short(value) for value in array.ravel()]}
        for name, array in arrays.items()
    }


def _short(value: Any) -> float:
    return float(str(value)) if isinstance(value, np.floating) else value.item()


def _picture(height: int, width: int, random: np.random.Generator) -> Array:
    down, across = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    colours = np.stack([255 * down, 255 * across, 127 * (1 + np.sin(9 * down * across))], axis=-1)
    noisy = colours + random.normal(0, 12, colours.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)[None]
