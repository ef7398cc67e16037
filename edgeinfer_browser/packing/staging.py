"""Output that is whole or not there: everything is made in a folder beside the target, which it replaces at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeinfer_browser.errors import OutputError


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder to write to; when the block ends well it becomes ``out``, and an old ``out`` goes.

    Raises:
        OutputError: when the disk is full or may not be written; no half-made folder is left, and ``out`` is as before.
    """
    target = out.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise _unwritable(out, error) from error
    try:
        yield work
        work.chmod(0o755)  # mkdtemp makes it its owner's alone
        _replace(work, target)
    except OSError as error:
        raise _unwritable(out, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _replace(work: Path, target: Path) -> None:
    """Put ``work`` where ``target`` is: two renames, so that there is no moment with half of each."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    work.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _unwritable(out: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{out} could not be written: {error.strerror or error}. Nothing half-written was left. Free some space, or "
        "choose another place, and run it again.",
        path=str(out),
    )
