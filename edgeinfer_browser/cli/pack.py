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

import onnx

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.packing.advice import describe
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.heads import HEAD_SCOPE
from edgeinfer_browser.packing.images import preprocessing_nodes
from edgeinfer_browser.packing.native import Array, feeds_of
from edgeinfer_browser.packing.pack import TASKS, Options, VariantMaker, pack
from edgeinfer_browser.packing.pooling import POOLING_SCOPE, POOLINGS
from edgeinfer_browser.packing.samples import SHORT_TEXTS, picture_samples
from edgeinfer_browser.packing.small_files import text_limit
from edgeinfer_browser.packing.source import Source, open_source
from edgeinfer_browser.packing.texts import digest_of, read_examples

DTYPES = ("fp32", "fp16", "q8")
#: How each dtype is made where no recipe file says otherwise.
METHODS: Mapping[str, str] = {
    "fp16": "fp16",
    "q8": "int8-dynamic",
    "q4": "int4-weights-rtn",
    "q4f16": "int4-weights-rtn-fp16",
}
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
    parser.add_argument("--dtypes", default=",".join(DTYPES), metavar="A,B,...", help="default: %(default)s")
    parser.add_argument("--keep-variants", action="store_true", help="take the source's own variants, do not make them")
    parser.add_argument("--quantization", type=Path, metavar="FILE", help="a recipe of `edgeinfer quantize` for q8")
    parser.add_argument(
        "--calibration", type=Path, metavar="FILE", help="texts on which fp16 is looked at for overflow"
    )
    parser.add_argument(
        "--split-mb", type=float, metavar="N", help="most MiB of one file of weights (25 for most hosts)"
    )


def main(arguments: argparse.Namespace) -> int:
    """Pack, and say what was made."""
    task = ALIASES.get(arguments.task, arguments.task)
    options = options_of(arguments)
    with open_source(arguments.source, task, config=options.config, tokenizer=options.tokenizer) as source:
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
        float32="fp32" in _dtypes(arguments),
        keep_variants=arguments.keep_variants,
        split_mb=arguments.split_mb,
        browser=None if arguments.skip_browser_check else check,
        calibration=_digests(arguments),
    )


def variant_makers(
    arguments: argparse.Namespace, source: Source, options: Options
) -> Iterator[tuple[str, VariantMaker]]:
    """How each dtype is made: by the recipe file, or by the method that it has by default."""
    for dtype in _dtypes(arguments):
        if dtype == "q8" and arguments.quantization:
            from edgeinfer_browser.quantization.recipe_file import variant_maker

            yield dtype, variant_maker(arguments.quantization)
        elif dtype in METHODS:
            yield dtype, _by_method(METHODS[dtype], arguments, source, options)


def _by_method(method: str, arguments: argparse.Namespace, source: Source, options: Options) -> VariantMaker:
    """Pooling, heads and what is done to pixels stay float32 in it: a few kB, and the answer hangs on them."""

    def make(model: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
        from edgeinfer_browser.quantization.recipes import describe as describe_method
        from edgeinfer_browser.quantization.recipes import quantize

        keep = [node.name for node in model.graph.node if node.name.startswith((POOLING_SCOPE, HEAD_SCOPE))]
        keep += preprocessing_nodes(model)
        feeds = _feeds(model, arguments, source, options) if method == "fp16" else []
        return quantize(model, method, calibration=feeds, keep=keep), describe_method(method)

    return make


def _feeds(
    model: onnx.ModelProto, arguments: argparse.Namespace, source: Source, options: Options
) -> list[dict[str, Array]]:
    """What fp16 is looked at for overflow with: the texts given, else the short golden samples."""
    inputs = [value.name for value in model.graph.input]
    if "pixels" in inputs:
        return [dict(sample.feeds) for sample in picture_samples()]
    texts = [example.text for example in read_examples(arguments.calibration)] if arguments.calibration else SHORT_TEXTS
    limit = text_limit(source, source.json("config.json"), options.max_length)
    return feeds_of(source.files["tokenizer.json"], texts, inputs, limit)


def _digests(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Of all texts that any variant was calibrated on, for ``evaluate`` to keep apart."""
    digests = (
        [digest_of(example.text) for example in read_examples(arguments.calibration)] if arguments.calibration else []
    )
    if arguments.quantization:
        from edgeinfer_browser.quantization.recipe_file import read_recipe

        digests += read_recipe(arguments.quantization).calibration.get("digests", [])
    return tuple(digests)


def _dtypes(arguments: argparse.Namespace) -> list[str]:
    """The dtypes asked for.

    Raises:
        UnknownNameError: for one that does not exist.
        InputError: when a recipe is given for a dtype that is not wanted.
    """
    dtypes = [dtype.strip() for dtype in arguments.dtypes.split(",") if dtype.strip()]
    for dtype in dtypes:
        if dtype not in SUFFIXES:
            raise UnknownNameError.of("dtype", dtype, SUFFIXES)
    if arguments.quantization and "q8" not in dtypes:
        raise InputError(
            "--quantization is a recipe for q8, and --dtypes does not ask for q8. Add it, or leave it out."
        )
    return dtypes


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
