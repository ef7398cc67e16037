"""Measure every variant of a packed model on your own texts: size, agreement with fp32, accuracy, latency, memory.

TEXTS is a .csv, .tsv or .jsonl with a column or key `text` and perhaps `label`, or a plain file with a text a line.
They must be other texts than those that the model was calibrated or trained on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.evaluation.packed_model import PackedModel
from edgeinfer_browser.evaluation.report import TIERS, Wish, evaluate
from edgeinfer_browser.evaluation.samples import read_samples, require_unused
from edgeinfer_browser.evaluation.table import table
from edgeinfer_browser.evaluation.write_back import write_back, write_report
from edgeinfer_browser.packing.advice import describe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that edgeinfer pack made")
    parser.add_argument("--texts", type=Path, required=True, metavar="FILE", help="the texts to measure on")
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="texts used before: none may be in --texts")
    parser.add_argument("--limit", type=int, metavar="N", help="take the first N texts only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw quality against size (.svg or .png)")
    parser.add_argument("--tiers", default=",".join(TIERS), help="what to measure on (default: %(default)s)")
    parser.add_argument("--no-browser", action="store_true", help="measure in native ONNX Runtime alone")
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="timed rounds (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="store the agreement and the advice in edgeinfer.json")
    parser.add_argument("--runtime", type=Path, help="runtime folder (default: build/site/edgeinfer)")
    parser.add_argument("--browser", help="executable of a Chromium (default: the one on the PATH)")


def main(arguments: argparse.Namespace) -> int:
    """Measure, print the tables and the advice, and write what was asked for."""
    wish = Wish(_tiers(arguments), _rounds(arguments.runs), arguments.runtime, arguments.browser)
    draw = _drawer(arguments.picture)
    model = PackedModel.read(arguments.folder)
    samples = read_samples(arguments.texts, arguments.limit)
    require_unused(samples.texts, model.source, arguments.calibration)
    report = evaluate(model, samples, wish, lambda line: print(line, file=sys.stderr))
    print(*table(report), "", *describe(report["advice"]), sep="\n")
    for line in report["warnings"]:
        print(f"warning: {line}")
    if arguments.json:
        write_report(report, arguments.json)
    if draw:
        draw(report, arguments.picture)
    if arguments.write:
        print(f"{arguments.folder}: revision {write_back(model, report)[:12]}")
    return 0


def _tiers(arguments: argparse.Namespace) -> tuple[str, ...]:
    named = tuple(name.strip() for name in arguments.tiers.split(",") if name.strip())
    for name in named:
        if name not in TIERS:
            raise UnknownNameError.of("tier", name, TIERS)
    wanted = ("native",) if arguments.no_browser else tuple(name for name in TIERS if name in named)
    if not wanted:
        raise InputError(f"--tiers names no tier. Known: {', '.join(TIERS)}.")
    return wanted


def _rounds(runs: int) -> int:
    if runs < 1:
        raise InputError(f"--runs {runs} times nothing: give 1 or more.", runs=runs)
    return runs


def _drawer(path: Path | None) -> Callable[[Mapping[str, Any], Path], None] | None:
    """What draws the picture, found before anything is measured: matplotlib is loaded only when it is wanted."""
    if path is None:
        return None
    from edgeinfer_browser.evaluation.picture import draw, require_format

    require_format(path)
    return draw
