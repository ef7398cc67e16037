"""Graph tools talk: through the root logger and on standard output. Here they do so to nobody."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is printed and nothing logged by the root logger in this block; its level and handlers stay as they were.

    Without a handler, ``logging.warning()`` would give the root logger one for good; a null handler is there meanwhile.
    """
    root, nobody = logging.getLogger(), logging.NullHandler()
    level = root.level
    root.addHandler(nobody)
    root.addFilter(_nothing)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        root.removeFilter(_nothing)
        root.removeHandler(nobody)
        root.setLevel(level)


def _nothing(_record: logging.LogRecord) -> bool:
    return False
