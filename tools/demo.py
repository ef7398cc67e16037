"""The demo: serve site and API on loopback, print one answer from each tier, and keep serving (``--once``: stop).

Each line is what a real headless browser answered with that tier forced: ``tier``, ``dtype``, ``label``, ``score``,
``latency_ms`` of one call after loading.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from edgeinfer_browser.cli.run import lines, page_options
from edgeinfer_browser.errors import EdgeInferError
from edgeinfer_browser.headless.page import page_at
from edgeinfer_browser.headless.serving import serving

ROOT = Path(__file__).resolve().parent.parent
TEXT = "The staff were kind and the view was wonderful."
TIERS = ("webgpu", "wasm", "api")


def main() -> int:
    """Serve, answer, and wait for Ctrl-C unless ``--once``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="print the answers and stop")
    parser.add_argument("--port", default="8000", help="port of the demo (default: 8000; with --once a free one)")
    arguments = parser.parse_args()
    port = "0" if arguments.once else arguments.port
    with serving(
        ROOT / "build/models", "--site", str(ROOT / "build/site"), "--api-prefix", "/api", "--port", port
    ) as url:
        print(f'"{TEXT}"', file=sys.stderr)
        print_answers(url)
        if not arguments.once:
            print(f"The demo is at {url} (Ctrl-C stops it)", file=sys.stderr, flush=True)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            signal.pause()
    return 0


def print_answers(url: str) -> None:
    """One JSON line for each tier."""
    with page_at(url) as page:
        for tier in TIERS:
            options = page_options("text-classification", "sentiment", tier, "prefer-local", None)
            for line in lines(page, options, [TEXT], 1):
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit(0) from None
    except EdgeInferError as error:
        raise SystemExit(f"demo: {type(error).__name__}: {error}") from None
