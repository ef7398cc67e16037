"""Make a model folder that browser and server can both trust.

SOURCE is a folder in Hugging Face layout (config.json, tokenizer.json, onnx/model.onnx), an .onnx file, a folder with
PyTorch weights, or a hub id (owner/name). OUT gets the model in every dtype, checked natively and in a real browser,
and edgeinfer.json: bytes and sha256 of each file, golden samples with what native ONNX Runtime answers to them, how
far each variant is from fp32, and which file to use where.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeinfer_browser.cli.pack_variants import DTYPES, calibration_digests, dtypes_of, variant_makers
from edgeinfer_browser.packing.advice import describe
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.pack import TASKS, Options, pack
from edgeinfer_browser.packing.pooling import POOLINGS
from edgeinfer_browser.packing.source import open_source

#: Hugging Face's old name of a task -> its name.
ALIASES = {"sentiment-analysis": "text-classification"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("source", metavar="SOURCE", help="model folder, .onnx file or hub id (owner/name)")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to make; its name becomes the model's name")
    parser.add_argument("--task", required=True, choices=sorted({*TASKS, *ALIASES}), help="what the model is for")
    _add_source(parser)
    _add_graph(parser)
    _add_variants(parser)
    parser.add_argument("--license", default="", help="the model's licence, kept in edgeinfer.json")
    parser.add_argument("--attribution", action="append", default=[], help="who must be named (may be repeated)")
    parser.add_argument(
        "--skip-browser-check", action="store_true", help="do not run the files in a browser; it is noted"
    )
    parser.add_argument("--runtime", type=Path, help="runtime folder (default: build/site/edgeinfer)")
    parser.add_argument("--browser", help="executable of a Chromium (default: the one on the PATH)")


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--revision", help="branch, tag or commit of a hub id (default: its main branch)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a config.json in the place of the source's")
    parser.add_argument("--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json in the place of the source's")
    parser.add_argument("--labels", metavar="A,B,...", help="labels in the order of the logits, with commas between")
    parser.add_argument("--max-length", type=int, metavar="N", help="most tokens of a text (default: the source's)")


def _add_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--head", action="append", type=Path, default=[], metavar="FILE", help="join a head (repeatable)"
    )
    parser.add_argument("--pooling", choices=POOLINGS, help="of an embedding (default: the source's, else mean)")
    norm = parser.add_mutually_exclusive_group()
    norm.add_argument("--normalize", action="store_true", default=None, help="L2-normalise embeddings (the default)")
    norm.add_argument("--no-normalize", action="store_false", dest="normalize", help="leave embeddings as they are")


def _add_variants(parser: argparse.ArgumentParser) -> None:
    suited = f"default: {','.join(DTYPES)}; of images q8 only with --calibration or --quantization"
    parser.add_argument("--dtypes", metavar="A,B,...", help=suited)
    parser.add_argument("--keep-variants", action="store_true", help="take the source's own variants, do not make them")
    parser.add_argument("--quantization", type=Path, metavar="FILE", help="a recipe of `edgeinfer quantize` for q8")
    looked_at = "texts on which fp16 is looked at for overflow; of an image model a folder of pictures, for q8 too"
    parser.add_argument("--calibration", type=Path, metavar="PATH", help=looked_at)
    parser.add_argument(
        "--split-mb", type=float, metavar="N", help="most MiB of one file of weights (25 for most hosts)"
    )


def main(arguments: argparse.Namespace) -> int:
    """Pack, and say what was made."""
    task = ALIASES.get(arguments.task, arguments.task)
    options = options_of(arguments)
    files = {"config": options.config, "tokenizer": options.tokenizer}
    with open_source(arguments.source, task, revision=arguments.revision, **files) as source:
        makers = dict(variant_makers(arguments, source, options))
        manifest = pack(source, arguments.out, task, variants=makers, options=options)
    for line in report(manifest):
        print(line)
    print(f"{arguments.out}: revision {manifest['revision'][:12]}")
    return 0


def options_of(arguments: argparse.Namespace) -> Options:
    """The command line's options as pack() takes them."""
    check = BrowserCheck(arguments.runtime, arguments.browser)
    return Options(
        licence=arguments.license,
        attribution=tuple(arguments.attribution),
        heads=tuple(arguments.head),
        labels=tuple(label.strip() for label in arguments.labels.split(",")) if arguments.labels else None,
        pooling=arguments.pooling,
        normalize=arguments.normalize,
        max_length=arguments.max_length,
        config=arguments.config,
        tokenizer=arguments.tokenizer,
        float32="fp32" in dtypes_of(arguments),
        keep_variants=arguments.keep_variants,
        split_mb=arguments.split_mb,
        browser=None if arguments.skip_browser_check else check,
        calibration=calibration_digests(arguments),
    )


def report(manifest: Mapping[str, Any]) -> Iterator[str]:
    """The lines that are printed: each variant, how it was made, its warnings, and the advice."""
    for dtype, variant in manifest["variants"].items():
        size = sum(file["bytes"] for file in variant["files"])
        told = variant["agreement"]
        web = told.get("web_max_abs_difference")
        checked = "not checked in a browser" if web is None else f"browser to native {web:.2g}"
        yield f"{dtype:6} {size / 1e6:7.1f} MB   largest difference to fp32 {told['max_abs_difference']:.2g}, {checked}"
        yield f"       {variant['method']}"
        yield from (f"       warning: {warning}" for warning in variant["warnings"])
    yield from describe(manifest["advice"])
