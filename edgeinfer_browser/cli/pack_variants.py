"""Which variants ``edgeinfer pack`` makes, and how: the method of each dtype, or a recipe file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

import onnx

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.packing.heads import HEAD_SCOPE
from edgeinfer_browser.packing.images import preprocessing_nodes
from edgeinfer_browser.packing.native import Array, feeds_of
from edgeinfer_browser.packing.options import Options
from edgeinfer_browser.packing.pack import VariantMaker
from edgeinfer_browser.packing.pooling import POOLING_SCOPE
from edgeinfer_browser.packing.samples import SHORT_TEXTS, picture_samples
from edgeinfer_browser.packing.small_files import text_limit
from edgeinfer_browser.packing.source import Source
from edgeinfer_browser.packing.texts import digest_of, read_examples

DTYPES = ("fp32", "fp16", "q8")
#: How each dtype is made where no recipe file says otherwise.
METHODS: Mapping[str, str] = {
    "fp16": "fp16",
    "q8": "int8-dynamic",
    "q4": "int4-weights-rtn",
    "q4f16": "int4-weights-rtn-fp16",
}
#: Of images q8 is made so where there are pictures to calibrate on, and by default only then. Measured on open_nsfw (53
#: convolutions; 60 crops of photographs, largest logit 8.9; one thread; fp32 takes 13 ms natively, 63 ms in WASM):
#: int8-dynamic is up to 2.0 off, and slower (72 ms, 356 ms), for activations are scaled anew at each convolution;
#: int8-static is up to 0.8 off, and faster (10 ms, 50 ms); fp16 is 0.04 off. Weight-only methods leave convolutions be.
CALIBRATED_IMAGES = "int8-static"
IMAGES = "image-classification"


def dtypes_of(arguments: argparse.Namespace) -> list[str]:
    """The dtypes asked for, or those that suit the task.

    Raises:
        UnknownNameError: for one that does not exist.
        InputError: when a recipe is given for a dtype that is not wanted.
    """
    poor = arguments.task == IMAGES and not (arguments.calibration or arguments.quantization)
    suited = [dtype for dtype in DTYPES if dtype != "q8" or not poor]
    asked = [dtype.strip() for dtype in (arguments.dtypes or "").split(",") if dtype.strip()]
    for dtype in asked:
        if dtype not in SUFFIXES:
            raise UnknownNameError.of("dtype", dtype, SUFFIXES)
    dtypes = asked or suited
    if arguments.quantization and "q8" not in dtypes:
        raise InputError(
            "--quantization is a recipe for q8, and --dtypes does not ask for q8. Add it, or leave it out."
        )
    return dtypes


def variant_makers(
    arguments: argparse.Namespace, source: Source, options: Options
) -> Iterator[tuple[str, VariantMaker]]:
    """How each dtype is made: by the recipe file, or by the method that it has by default."""
    for dtype in dtypes_of(arguments):
        if dtype == "q8" and arguments.quantization:
            from edgeinfer_browser.quantization.recipe_file import variant_maker

            yield dtype, variant_maker(arguments.quantization)
        elif dtype == "q8" and arguments.task == IMAGES and arguments.calibration:
            yield dtype, _by_method(CALIBRATED_IMAGES, arguments, source, options)
        elif dtype in METHODS:
            yield dtype, _by_method(METHODS[dtype], arguments, source, options)


def calibration_digests(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Of all texts that any variant was calibrated on, for ``evaluate`` to keep apart; pictures have none."""
    digests: list[str] = []
    if arguments.calibration and arguments.task != IMAGES:
        digests += [digest_of(example.text) for example in read_examples(arguments.calibration)]
    if arguments.quantization:
        from edgeinfer_browser.quantization.recipe_file import read_recipe

        digests += read_recipe(arguments.quantization).calibration.get("digests", [])
    return tuple(digests)


def _by_method(method: str, arguments: argparse.Namespace, source: Source, options: Options) -> VariantMaker:
    """Pooling, heads and what is done to pixels stay float32 in it: a few kB, and the answer hangs on them."""

    def make(model: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
        from edgeinfer_browser.quantization.recipes import describe, quantize

        keep = [node.name for node in model.graph.node if node.name.startswith((POOLING_SCOPE, HEAD_SCOPE))]
        keep += preprocessing_nodes(model)
        feeds = _feeds(model, arguments, source, options) if method in ("fp16", CALIBRATED_IMAGES) else []
        told = f"{describe(method)} on {len(feeds)} pictures" if method == CALIBRATED_IMAGES else describe(method)
        return quantize(model, method, calibration=feeds, keep=keep), told

    return make


def _feeds(
    model: onnx.ModelProto, arguments: argparse.Namespace, source: Source, options: Options
) -> list[dict[str, Array]]:
    """What ranges are found on, and fp16 is looked at for overflow with: what was given, else short golden samples."""
    inputs = [value.name for value in model.graph.input]
    if arguments.task == IMAGES:
        return _pictures(arguments)
    texts = [example.text for example in read_examples(arguments.calibration)] if arguments.calibration else SHORT_TEXTS
    limit = text_limit(source, source.json("config.json"), options.max_length)
    return feeds_of(source.files["tokenizer.json"], texts, inputs, limit)


def _pictures(arguments: argparse.Namespace) -> list[dict[str, Array]]:
    if not arguments.calibration:
        return [dict(sample.feeds) for sample in picture_samples()]
    from edgeinfer_browser.packing.pictures import read_pictures

    return read_pictures(arguments.calibration)
