"""How much slower a variant is than another in WASM: estimated from its graph, or measured in pairs in one browser."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeinfer_browser.headless.session import web_sessions
from edgeinfer_browser.manifest import wanted_outputs
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.files import save
from edgeinfer_browser.quantization.paired_ratio import MOST, PairedRatio, paired_ratio

Feeds = Mapping[str, npt.NDArray[Any]]

#: A float32 product takes so many times an int8 one's time (onnxruntime-web, one thread).
FLOAT_MATMUL = 2.2
#: Scaling one channel takes the time of so many int8 multiplications.
CHANNEL = 20


@dataclass(frozen=True, slots=True)
class Slowdown:
    """How much slower one model is than another: what was measured for each length in tokens."""

    lengths: Mapping[int, PairedRatio]

    @property
    def ratio(self) -> float:
        """That of the length that comes off worst."""
        return max(found.ratio for found in self.lengths.values())

    def __str__(self) -> str:
        return ", ".join(f"{tokens} tokens {found}" for tokens, found in self.lengths.items())


def paired_ratios(
    one: Sequence[Path], other: Sequence[Path], feeds: Mapping[int, Feeds], check: BrowserCheck, most: int = MOST
) -> dict[int, PairedRatio]:
    """Time two files against each other in one headless browser, on WASM, one thread each.

    Args:
        one: the .onnx file, then its external data, in one folder.
        other: the same of the file to compare with.
        feeds: what to run, by number of tokens.
        check: which browser.
        most: pairs for each length at most (see :func:`edgeinfer_browser.quantization.paired_ratio.paired_ratio`).

    Returns:
        tokens -> one / other.

    Raises:
        InputError: when there is no browser or runtime folder.
        SessionError: when onnxruntime-web refuses a file.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = [_link(Path(folder), label, files) for label, files in (("one", one), ("other", other))]
        with (
            web_sessions(Path(folder), check.runtime, check.browser) as web,
            web.create(names[0], outputs=_outputs(one[0])) as a,
            web.create(names[1], outputs=_outputs(other[0])) as b,
        ):
            return {
                tokens: paired_ratio(partial(a.time, feed), partial(b.time, feed), most)
                for tokens, feed in feeds.items()
            }


def slowdown_in_browser(
    one: onnx.ModelProto, other: onnx.ModelProto, feeds: Mapping[int, Feeds], check: BrowserCheck
) -> Slowdown:
    """:func:`paired_ratios` of two models in memory."""
    with tempfile.TemporaryDirectory() as folder:
        files = [save(model, Path(folder) / f"{name}.onnx") for name, model in (("one", one), ("other", other))]
        return Slowdown(paired_ratios(files[0], files[1], feeds, check))


def feeds_of_lengths(model: onnx.ModelProto, lengths: Sequence[int]) -> dict[int, Feeds]:
    """Feeds of a text model by number of tokens: ids that differ, everything attended to, one segment."""
    names = [value.name for value in model.graph.input]
    made: dict[int, Feeds] = {}
    for tokens in lengths:
        ids = 1000 + np.arange(tokens, dtype=np.int64)[None] * 97 % 5000
        known = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        made[tokens] = {name: known[name] for name in names}
    return made


def _outputs(path: Path) -> tuple[str, ...]:
    """What a pipeline reads of it: copying more would be timed too."""
    return wanted_outputs(value.name for value in onnx.load(str(path), load_external_data=False).graph.output)


def _link(folder: Path, label: str, files: Sequence[Path]) -> list[str]:
    (folder / label).mkdir()
    for path in files:
        (folder / label / path.name).symlink_to(path.resolve())
    return [f"{label}/{path.name}" for path in files]
