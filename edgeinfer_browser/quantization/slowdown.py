"""How much slower a variant is than another in WASM: estimated from its graph, or measured in pairs in one browser."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeinfer_browser.headless.session import WebSession, web_sessions
from edgeinfer_browser.manifest import wanted_outputs
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.files import save

Feeds = Mapping[str, npt.NDArray[Any]]

#: A float32 product takes so many times an int8 one's time (onnxruntime-web, one thread).
FLOAT_MATMUL = 2.2
#: Scaling one channel takes the time of so many int8 multiplications.
CHANNEL = 20
#: Runs that are thrown away first.
_WARM_UP = 3
#: Runs for one timing, of which the fastest counts: others' work on the machine only ever adds.
_RUNS = 3


def paired_ratios(
    one: Sequence[Path],
    other: Sequence[Path],
    feeds: Mapping[int, Feeds],
    pairs: int,
    check: BrowserCheck,
) -> dict[int, dict[str, float]]:
    """Time two files against each other in one headless browser, on WASM, turn about.

    Args:
        one: the .onnx file, then its external data, in one folder.
        other: the same of the file to compare with.
        feeds: what to run, by number of tokens.
        pairs: pairs of timings for each length.
        check: which browser.

    Returns:
        tokens -> ``{"ratio", "fastest_ratio", "one_ms", "other_ms", "pairs"}``: one / other, the median over the pairs
        and that of the fastest of all, which a busy machine moves least; median milliseconds.

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
            return {tokens: _timed(a, b, feed, pairs) for tokens, feed in feeds.items()}


def slowdown_in_browser(
    one: onnx.ModelProto, other: onnx.ModelProto, feeds: Mapping[int, Feeds], pairs: int, check: BrowserCheck
) -> float:
    """The largest ``fastest_ratio`` of any length (:func:`paired_ratios`) between two models in memory."""
    with tempfile.TemporaryDirectory() as folder:
        files = [save(model, Path(folder) / f"{name}.onnx") for name, model in (("one", one), ("other", other))]
        found = paired_ratios(files[0], files[1], feeds, pairs, check)
    return max(entry["fastest_ratio"] for entry in found.values())


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


def _timed(one: WebSession, other: WebSession, feed: Feeds, pairs: int) -> dict[str, float]:
    for session in (one, other):
        session.time(feed, _WARM_UP)
    times: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs):
        order = ((one, 0), (other, 1)) if pair % 2 else ((other, 1), (one, 0))
        for session, place in order:
            times[place].append(min(session.time(feed, _RUNS)))
    ratios = [a / b for a, b in zip(*times, strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "fastest_ratio": min(times[0]) / min(times[1]),
        "one_ms": statistics.median(times[0]),
        "other_ms": statistics.median(times[1]),
        "pairs": pairs,
    }
