"""`edgeinfer bench quantized`: one int8 file against another, in pairs of runs in one headless browser, on WASM.

Without --against it is plain int8 (`int8-dynamic`, per channel), made here from the folder's fp32 file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import onnx

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.files import external_files, save
from edgeinfer_browser.packing.graph_file import load_graph
from edgeinfer_browser.packing.manifest_file import read_manifest
from edgeinfer_browser.quantization.recipes import quantize
from edgeinfer_browser.quantization.slowdown import feeds_of_lengths, paired_ratios


def main(arguments: argparse.Namespace) -> int:
    """Measure, and print one line of JSON for each length."""
    dtype = arguments.dtype or "q8"
    mine = onnx_files(arguments.model, dtype)
    feeds = feeds_of_lengths(onnx.load(str(mine[0]), load_external_data=False), arguments.tokens)
    with tempfile.TemporaryDirectory() as folder:
        theirs = onnx_files(arguments.against, dtype) if arguments.against else plain(arguments.model, Path(folder))
        check = BrowserCheck(arguments.runtime, arguments.browser)
        found = paired_ratios(mine, theirs, feeds, check, arguments.pairs)
    against = str(arguments.against or "plain int8")
    for tokens, entry in found.items():
        line = {"bench": "quantized", "model": str(arguments.model), "against": against, "tokens": tokens}
        print(json.dumps(line | entry.to_json()))
    return 0


def onnx_files(model: Path, dtype: str) -> list[Path]:
    """The .onnx file and its external data, of a packed folder's variant or of the file itself.

    Raises:
        InputError: when it is neither.
        UnknownNameError: when the folder has no such variant.
    """
    if model.is_file():
        return [model, *external_files(model)]
    if not model.is_dir():
        raise InputError(f"{model} is neither a packed folder nor an .onnx file.", path=str(model))
    variants = read_manifest(model)["variants"]
    if dtype not in variants:
        raise UnknownNameError.of(f"dtype of {model}", dtype, variants)
    return [model / file["path"] for file in variants[dtype]["files"]]


def plain(model: Path, folder: Path) -> list[Path]:
    """Plain int8 of a packed folder's fp32 file, written to ``folder``.

    Raises:
        InputError: when ``model`` is a bare file: there is no fp32 to make it of.
    """
    if not model.is_dir():
        raise InputError(f"{model} is a bare file; name what to compare it with: --against FILE.onnx", path=str(model))
    return save(quantize(load_graph(onnx_files(model, "fp32")[0]), "int8-dynamic"), folder / "plain.onnx")
