"""Fetch micropip's wheels, one for each supported Pyodide, into ``.cache/pyodide`` (pip verifies what it downloads)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".cache/pyodide"
#: micropip version -> Python version of the Pyodide it is for.
WHEELS = {"0.11.1": "3.14", "0.9.0": "3.12"}


def main() -> int:
    """Download what is not there yet."""
    for version, python in WHEELS.items():
        if (FOLDER / f"micropip-{version}-py3-none-any.whl").is_file():
            continue
        options = ["--no-deps", "--only-binary=:all:", "--python-version", python, "--dest", str(FOLDER)]
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", *options, f"micropip=={version}"], check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
