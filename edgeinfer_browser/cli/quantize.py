"""Make a smaller file of a model: by a method, by a recipe that was found before, or by a search that measures.

SOURCE is a folder that `edgeinfer pack` made, whose variant is added or replaced, or a bare .onnx file, of which
OUT.onnx is made. Give one of --method, --recipe and --target. With --target every step is tried on the calibration
texts and kept only for what it measurably gains; the log shows what was tried. Nothing is written when the target is
not reached.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from edgeinfer_browser.cli.quantize_source import QuantizeSource, open_quantize_source
from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.native import Array
from edgeinfer_browser.packing.texts import digest_of, read_examples
from edgeinfer_browser.quantization.calibration import require_feeds
from edgeinfer_browser.quantization.found_recipe import FoundRecipe, apply_recipe
from edgeinfer_browser.quantization.recipe_file import read_recipe, write_recipe
from edgeinfer_browser.quantization.recipes import DTYPE_OF, RECIPES, describe, quantize
from edgeinfer_browser.quantization.search import MeasureSlowdown, search
from edgeinfer_browser.quantization.search_log import SearchLog
from edgeinfer_browser.quantization.slowdown import feeds_of_lengths, slowdown_in_browser
from edgeinfer_browser.quantization.target import parse_target

#: Tokens of the texts that --max-slowdown is measured with.
LENGTHS = (8, 32, 128)


@dataclass(frozen=True, slots=True)
class Made:
    """A variant, how it was made, and the digests of the texts that decided it."""

    dtype: str
    model: onnx.ModelProto
    method: str
    calibration: Sequence[str] = ()
    recipe: FoundRecipe | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("source", type=Path, metavar="SOURCE", help="packed model folder, or an .onnx file")
    parser.add_argument("out", type=Path, nargs="?", metavar="OUT", help="file to make, where SOURCE is an .onnx file")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--method", metavar="M", help=f"one of {', '.join(RECIPES)}")
    how.add_argument("--recipe", type=Path, metavar="FILE", help="apply what an earlier search found")
    how.add_argument("--target", metavar="T", help="search int8 that reaches it, e.g. cosine=0.995,worst=0.98")
    _add_method(parser.add_argument_group("with --method"))
    _add_target(parser.add_argument_group("with --target"))
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="texts to calibrate on (csv, tsv, jsonl, txt)")
    parser.add_argument("--tokenizer", type=Path, metavar="FILE", help="tokenizer.json, where SOURCE is an .onnx file")
    parser.add_argument(
        "--max-length", type=int, metavar="N", help="most tokens of a text (default: the folder's, or 512)"
    )
    parser.add_argument("--split-mb", type=float, metavar="N", help="most MiB of one file of weights")
    parser.add_argument(
        "--skip-browser-check", action="store_true", help="do not run the folder's new file in a browser"
    )
    parser.add_argument("--runtime", type=Path, help="runtime folder (default: build/site/edgeinfer)")
    parser.add_argument("--browser", help="executable of a Chromium (default: the one on the PATH)")


def _add_method(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--keep", action="append", default=[], metavar="NODE", help="leave it in float (repeatable)")
    group.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="of the method (repeatable)")


def _add_target(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--max-mb", type=float, metavar="MB", help="most megabytes (1e6 bytes) of all its files")
    group.add_argument(
        "--max-slowdown", type=float, metavar="X", help="most time in WASM as a multiple of plain int8's, measured"
    )
    group.add_argument("--log", type=Path, metavar="FILE", help="write each trial as a line of JSON")
    group.add_argument("--save-recipe", type=Path, metavar="FILE", help="write what was found, to apply it again")


def main(arguments: argparse.Namespace) -> int:
    """Make the variant, write it, and say what it is."""
    source = open_quantize_source(arguments.source, arguments.out, arguments.tokenizer, arguments.max_length)
    make = _searched if arguments.target else _reapplied if arguments.recipe else _by_method
    made = make(source, arguments)
    check = None if arguments.skip_browser_check else BrowserCheck(arguments.runtime, arguments.browser)
    for line in source.write(made.dtype, made.model, made.method, made.calibration, check, arguments.split_mb):
        print(line)
    if made.recipe and arguments.save_recipe:
        write_recipe(arguments.save_recipe, made.recipe)
        print(f"{arguments.save_recipe}: {arguments.save_recipe.stat().st_size / 1e3:.1f} kB")
    return 0


def _by_method(source: QuantizeSource, arguments: argparse.Namespace) -> Made:
    method, options = arguments.method, dict(map(_option, arguments.option))
    described = describe(method, options, arguments.keep)  # refuses names that do not exist before anything is run
    texts = _texts(arguments)
    if RECIPES[method].needs_calibration:
        require_feeds(_feeds(source, texts), method)
    model = quantize(source.model, method, calibration=_feeds(source, texts), keep=arguments.keep, **options)
    return Made(DTYPE_OF[method], model, described, [digest_of(text) for text in texts])


def _reapplied(source: QuantizeSource, arguments: argparse.Namespace) -> Made:
    recipe = read_recipe(arguments.recipe)
    digests = recipe.calibration.get("digests", [])
    return Made("q8", apply_recipe(source.model, recipe), recipe.describe(), digests)


def _searched(source: QuantizeSource, arguments: argparse.Namespace) -> Made:
    target = parse_target(arguments.target, arguments.max_mb, arguments.max_slowdown)
    texts = _texts(arguments)
    digests = [digest_of(text) for text in texts]
    feeds = _feeds(source, texts)
    with closing(SearchLog(arguments.log)) as log:
        found = search(
            source.model,
            target,
            feeds,
            log=log.add,
            note=log.note,
            slowdown=_slowdown(source, arguments) if arguments.max_slowdown else None,
            texts={"texts": len(texts), "digests": digests},
        )
    print(f"Target reached: {target}.")
    return Made("q8", found.model, found.recipe.describe(), digests, found.recipe)


def _slowdown(source: QuantizeSource, arguments: argparse.Namespace) -> MeasureSlowdown:
    feeds = feeds_of_lengths(source.model, LENGTHS)
    check = BrowserCheck(arguments.runtime, arguments.browser)
    return partial(slowdown_in_browser, feeds=feeds, check=check)


def _texts(arguments: argparse.Namespace) -> list[str]:
    return [example.text for example in read_examples(arguments.calibration)] if arguments.calibration else []


def _feeds(source: QuantizeSource, texts: list[str]) -> list[dict[str, Array]]:
    return source.feeds(texts) if texts else []


def _option(text: str) -> tuple[str, Any]:
    """``name=value``; the value is JSON, or a word as it is.

    Raises:
        InputError: without a ``=``.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--option {text} has no value. Write --option name=value, e.g. --option block_size=64.")
    try:
        return name, json.loads(value)
    except ValueError:  # a word
        return name, value
