"""What Python adds: paired timings of one call from Python and of the same ``session.run`` in JavaScript.

Each pair is taken back to back, in alternating order, in the same session of the same worker, so whatever else the
machine does meets both alike. Milliseconds throughout.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from edgeinfer_browser.backends.onnxruntime_web import OnnxRuntimeWeb
from edgeinfer_browser.errors import InputError
from edgeinfer_browser.pipelines import TextPipeline

#: Pairs that are thrown away first: the JavaScript and WebAssembly compilers are still at work.
WARM_UP = 10


async def time_pairs(pipe: TextPipeline, text: str, pairs: int) -> dict[str, Any]:
    """Time ``pairs`` pairs on the pipeline's local tier.

    Returns:
        ``call`` (text to labels, from Python), ``run`` (feeds to outputs, from Python) and ``session`` (the same
        feeds, ``session.run`` in JavaScript): lists of milliseconds of equal length; and ``tokens``.

    Raises:
        InputError: when the pipeline does not run on a local tier of a browser.
    """
    backend = pipe.backend
    if not isinstance(backend, OnnxRuntimeWeb):
        raise InputError(f"The benchmark times a local tier of a browser, not {pipe.info.tier!r}.")
    feeds = pipe.feeds(text)
    times: dict[str, list[float]] = {"call": [], "run": [], "session": []}

    async def session() -> None:
        times["session"] += await backend.time_session(feeds, runs=1)

    steps: list[Callable[[], Awaitable[None]]] = [
        lambda: _timed(times["call"], lambda: pipe(text)),
        lambda: _timed(times["run"], lambda: backend.run(feeds)),
        session,
    ]
    for pair in range(WARM_UP + pairs):
        for step in steps if pair % 2 else reversed(steps):
            await step()
    kept = {name: values[WARM_UP:] for name, values in times.items()}
    return {**kept, "tokens": feeds["input_ids"].dims[1], "tier": backend.tier, "dtype": backend.dtype}


async def _timed(into: list[float], work: Callable[[], Awaitable[object]]) -> None:
    before = time.perf_counter()
    await work()
    into.append((time.perf_counter() - before) * 1000)
