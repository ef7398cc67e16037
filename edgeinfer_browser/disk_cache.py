"""The cache of CPython: downloaded model files below the user's cache folder, verified each time they are read.

A file is put there by a rename, once it is whole and verified. Files of one URL folder lie beside each other under
their own names, as ONNX Runtime looks for a model's external data there. What is under way is a ``.part`` file, which
a later download goes on with; nothing ever takes it for the file.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import BinaryIO

from edgeinfer_browser.bridge import Notice, OnNotice

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock

#: Seconds after which a download that nobody went on with is given up.
STALE_SECONDS = 24 * 3600

#: Where a packed model's files lie: its own folder, its graphs', and that of sentence-transformers' pooling.
PACKED_FOLDERS = ("", "onnx/", "1_Pooling/")


def place_of(url: str, on_notice: OnNotice | None = None) -> Path:
    """Where the file of a URL lies, or would lie."""
    folder, _, name = url.rpartition("/")
    return _root(on_notice) / _folder_name(folder) / name


def read_committed(place: Path, sha256: str) -> tuple[Path | None, Notice | None]:
    """The path, if the file is there and whole. A damaged one is evicted, with a notice; one without a hash is none."""
    if not sha256 or not place.is_file():
        return None, None
    actual = sha256_of(place)
    if actual == sha256:
        return place, None
    place.unlink(missing_ok=True)
    why = f"its sha256 is {actual}, not {sha256}"
    return None, Notice("cache_entry_damaged", f"{place} was damaged and is fetched anew ({why}).")


@contextmanager
def partial_file(place: Path, sha256: str) -> Iterator[tuple[BinaryIO, Path]]:
    """The file to download into, with what an earlier download left in it; another process's is left alone."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place.parent)
    path = place.with_name(f".{place.name}.{sha256[:16]}.part")
    with path.open("a+b") as shared:
        if _lock(shared, path):
            try:
                yield shared, path
            finally:
                if path.exists() and not path.stat().st_size:
                    path.unlink()
            return
    descriptor, name = tempfile.mkstemp(".part", dir=place.parent)
    try:
        with os.fdopen(descriptor, "w+b") as own:
            yield own, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def commit(partial: Path, place: Path) -> None:
    """The one step that makes a verified file count as there."""
    partial.replace(place)


def forget_old_revisions(folder: str, current: Iterable[tuple[str, str]]) -> None:
    """Remove the files of a model folder that its current revision, (URL, sha256) of each, does not have."""
    kept = {place_of(url) for url, _ in current}
    for below in PACKED_FOLDERS:
        place = place_of(f"{folder}{below}")
        for path in place.iterdir() if place.is_dir() else ():
            if path.is_file() and path not in kept and path.suffix != ".part":
                path.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """sha256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder_name(folder: str) -> str:
    return hashlib.sha256(folder.encode()).hexdigest()[:16]


def _root(on_notice: OnNotice | None) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "edgeinfer"
    try:
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK | os.X_OK):
            return base
        why = "it cannot be written to"
    except OSError as error:
        why = str(error)
    if on_notice:
        message = (
            f"Model files are not kept: {base} cannot be used ({why}). They are fetched again by the next process."
        )
        on_notice(Notice("cache_unavailable", message))
    return Path(_temporary_root().name)


@cache
def _temporary_root() -> tempfile.TemporaryDirectory[str]:
    """Lives as long as the process."""
    return tempfile.TemporaryDirectory(prefix="edgeinfer-")


def _lock(file: BinaryIO, path: Path) -> bool:
    """False when another download has the file, or has just committed it."""
    if sys.platform == "win32":  # it has no flock, so there no download is resumed
        return False
    try:
        flock(file, LOCK_EX | LOCK_NB)
        return path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except OSError:
        return False


def _sweep(folder: Path) -> None:
    oldest = time.time() - STALE_SECONDS
    for path in folder.glob("*.part"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
