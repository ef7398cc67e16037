"""What a search tried: one line a trial, to read; one JSON object a trial, to keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from edgeinfer_browser.errors import OutputError


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate, measured on the calibration feeds."""

    #: What it has that the best one before it has not.
    what: str
    #: Megabytes (1e6 bytes) of all its files.
    mb: float
    mean: float
    worst: float
    #: Time of a run in WASM as a multiple of plain int8's: estimated from the graph, or measured.
    slowdown: float
    slowdown_measured: bool = False
    same_label: float | None = None
    largest_score_change: float | None = None
    kept: bool = False
    #: Why it was kept or dropped.
    why: str = ""

    def line(self) -> str:
        """For people."""
        label = "" if self.same_label is None else f"  same label {self.same_label:.1%}"
        time = f"{self.slowdown:5.2f}x" if self.slowdown_measured else f"~{self.slowdown:4.2f}x"
        return (
            f"{'+' if self.kept else '-'} {self.what:54} {self.mb:6.2f} MB  mean {self.mean:.5f}  "
            f"worst {self.worst:.5f}  {time}{label}  {self.why}"
        )

    def to_json(self) -> dict[str, Any]:
        """The fields that were measured."""
        return {name: value for name, value in asdict(self).items() if value is not None}


Log = Callable[[Trial], None]
#: Told a sentence.
Note = Callable[[str], None]


class SearchLog:
    """Prints each trial and, when a file is named, adds it there as a line of JSON. :meth:`close` it."""

    def __init__(self, file: Path | None = None) -> None:
        self._file: IO[str] | None = _opened(file) if file else None

    def add(self, trial: Trial) -> None:
        """One trial more."""
        self._write(trial.line(), trial.to_json())

    def note(self, sentence: str) -> None:
        """What is no trial; ``{"note": sentence}`` in the file."""
        self._write(f"  {sentence}", {"note": sentence})

    def _write(self, line: str, fields: Mapping[str, Any]) -> None:
        print(line, flush=True)
        if self._file:
            print(json.dumps(fields), file=self._file, flush=True)

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()


def _opened(file: Path) -> IO[str]:
    try:
        return file.open("w", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{file} could not be written: {error.strerror}.", path=str(file)) from error
