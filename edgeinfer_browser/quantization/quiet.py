"""Quantizers talk: through the root logger, on standard output, in warnings. Here they do so to nobody."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is printed, warned or logged by the root logger in this block; its level and handlers stay as they were.

    Without a handler, ``logging.warning()`` would give the root logger one for good; a null handler is there meanwhile.
    """
    root, nobody = logging.getLogger(), logging.NullHandler()
    level = root.level
    root.addHandler(nobody)
    root.addFilter(_nothing)
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(_nothing)
        root.removeHandler(nobody)
        root.setLevel(level)


def _nothing(_record: logging.LogRecord) -> bool:
    return False
