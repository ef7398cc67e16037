"""Output that is whole or not there, also when the disk fills half way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgeinfer_browser.errors import OutputError
from edgeinfer_browser.packing.staging import staged


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_was_made_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "model"
    for text in ("old", "new"):
        with staged(out) as work:
            (work / f"{text}.txt").write_text(text)
    assert contents(tmp_path) == {"model/new.txt": "new"}


def half_write(out: Path) -> None:
    with staged(out) as work:
        (work / "file.txt").write_text("new")
        raise ZeroDivisionError("half way")


def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "model"
    with staged(out) as work:
        (work / "file.txt").write_text("old")
    with pytest.raises(ZeroDivisionError, match="half way"):
        half_write(out)
    assert contents(tmp_path) == {"model/file.txt": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_place_that_is_a_file_s_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="could not be written"), staged(tmp_path / "file/model"):
        pass


#: The limit makes a write fail half way with an OSError, as a full disk does.
LIMITED = """
import resource, signal, sys
from pathlib import Path
from edgeinfer_browser.errors import OutputError
from edgeinfer_browser.packing.staging import staged
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with staged(Path(sys.argv[1])) as work:
        (work / "small").write_bytes(bytes(10))
        (work / "large").write_bytes(bytes(1_000_000))
except OutputError as error:
    print(error)
"""


def test_a_file_that_cannot_be_written_to_its_end_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "model")]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "could not be written" in said
    assert "Nothing half-written was left" in said
    assert list(tmp_path.iterdir()) == []
