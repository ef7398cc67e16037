"""What each quantization method makes of MiniLM: size, and cosine to float32 on texts it was not calibrated on::

    python tools/quantization_table.py                             every method that the machine has what it needs for
    python tools/quantization_table.py int8-static:ranges=entropy  some, with options

100 calibration and 100 other evaluation texts of tools/sentiment_data.py, one by one. Times are this machine's.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from edgeinfer_browser.errors import InputError  # noqa: E402
from edgeinfer_browser.packing.files import save  # noqa: E402
from edgeinfer_browser.quantization.recipes import RECIPES, quantize  # noqa: E402
from tests.quantized_minilm import cosines, embeddings, feeds, model  # noqa: E402

TEXTS = 100


def row(spec: str) -> str:
    """A line of the table; ``spec`` is ``method:option=value,option=value``."""
    method, _, given = spec.partition(":")
    options = dict(pair.split("=", 1) for pair in given.split(",") if pair)
    started = time.perf_counter()
    made = quantize(model(), method, calibration=feeds("calibration", TEXTS), **options)
    seconds = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        files = save(made, Path(folder) / "model.onnx")
        size = sum(path.stat().st_size for path in files) / 1e6
        reached = cosines(embeddings(model(), TEXTS), embeddings(files[0], TEXTS))
    return f"| {spec} | {size:.1f} | {reached.mean():.5f} | {reached.min():.5f} | {seconds:.0f} |"


def main(specs: list[str]) -> int:
    """Print the table."""
    print("| method | MB | mean cosine | worst cosine | seconds to make |\n| --- | --- | --- | --- | --- |")
    for spec in specs or RECIPES:
        try:
            print(row(spec), flush=True)
        except InputError as error:
            print(f"| {spec} | not made: {error} | | | |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
