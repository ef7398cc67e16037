"""Install onnx-neural-compressor, which AWQ is done with, where only the tests that need it look::

    .cache/onnx-neural-compressor/    to be put on sys.path

Through pip, so the user's own pip settings (mirror, proxy) apply. Without its dependencies: it pins numpy below 2,
which it does not need. A second run does nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "onnx-neural-compressor"
PACKAGES = (
    "onnx-neural-compressor==1.0",
    "annotated-types==0.7.0",
    "prettytable==3.16.0",
    "psutil==7.1.3",
    "py-cpuinfo==9.0.0",
    "pydantic==2.12.4",
    "pydantic-core==2.41.5",
    "typing-inspection==0.4.2",
    "wcwidth==0.2.14",
)


def fetch() -> Path:
    """The folder, filled."""
    ready = FOLDER / ".ready"
    wanted = "\n".join((*PACKAGES, sys.version))
    if not ready.is_file() or ready.read_text("utf-8") != wanted:
        words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade"]
        subprocess.run([sys.executable, "-m", "pip", *words, "--target", str(FOLDER), *PACKAGES], check=True)
        ready.write_text(wanted, "utf-8")
    return FOLDER


if __name__ == "__main__":
    fetch()
