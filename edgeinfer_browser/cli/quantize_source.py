"""What `edgeinfer quantize` works on: a packed folder, or a bare .onnx file and where its variant goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from edgeinfer_browser.errors import InputError, ManifestError, OutputError
from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.files import save
from edgeinfer_browser.packing.graph_file import load_graph
from edgeinfer_browser.packing.manifest_file import read_manifest
from edgeinfer_browser.packing.native import Array, feeds_of
from edgeinfer_browser.packing.variants import put_variant

#: Most tokens of a text, where nothing says otherwise.
MAX_LENGTH = 512


@dataclass(frozen=True, slots=True)
class QuantizeSource:
    """A float32 model in memory, its tokenizer, and where variants of it go."""

    model: onnx.ModelProto
    tokenizer: Path | None
    max_length: int
    #: The packed folder, or None.
    folder: Path | None = None
    #: The .onnx file to make, where there is no folder.
    out: Path | None = None

    def feeds(self, texts: Sequence[str]) -> list[dict[str, Array]]:
        """The model's feeds of these texts, one each.

        Raises:
            InputError: when there is no tokenizer.
        """
        if self.tokenizer is None:
            raise InputError("Calibration texts need the model's tokenizer. Name it: --tokenizer tokenizer.json.")
        return feeds_of(self.tokenizer, texts, [value.name for value in self.model.graph.input], self.max_length)

    def write(
        self,
        dtype: str,
        model: onnx.ModelProto,
        method: str,
        calibration: Sequence[str],
        check: BrowserCheck | None,
        split_mb: float | None,
    ) -> list[str]:
        """Write a variant; what to print about it.

        Raises:
            OutputError, GraphError, InputError: as put_variant() and save() do.
        """
        if self.folder is None:
            return self._write_file(model, method, split_mb)
        entry = put_variant(self.folder, dtype, model, method, calibration, browser=check, split_mb=split_mb)
        size = sum(file["bytes"] for file in entry["files"]) / 1e6
        told = entry["agreement"]["max_abs_difference"]
        where = self.folder / entry["files"][0]["path"]
        return [f"{where}: {size:.2f} MB, {method}", f"largest difference to fp32 on the golden samples: {told:.2g}"]

    def _write_file(self, model: onnx.ModelProto, method: str, split_mb: float | None) -> list[str]:
        if self.out is None:
            raise InputError("Name the file to make: edgeinfer quantize SOURCE.onnx OUT.onnx ...")
        try:
            paths = save(model, self.out, split_mb)
        except OSError as error:
            raise OutputError(f"{self.out} could not be written: {error.strerror or error}.") from error
        return [f"{self.out}: {sum(path.stat().st_size for path in paths) / 1e6:.2f} MB, {method}"]


def open_quantize_source(
    source: Path, out: Path | None, tokenizer: Path | None, max_length: int | None
) -> QuantizeSource:
    """Read SOURCE.

    Args:
        source: a packed folder or an .onnx file.
        out: the file to make of an .onnx file.
        tokenizer: the tokenizer.json of an .onnx file.
        max_length: most tokens of a text; None takes the folder's.

    Raises:
        InputError: when it is neither, when OUT is missing, or is given for a folder.
        ManifestError: when the folder is not packed, or has no fp32 variant to start from.
        GraphError: when the file is not whole.
    """
    if source.is_dir():
        return _folder(source, out, max_length)
    if not source.is_file():
        raise InputError(f"{source} is neither a packed folder nor an .onnx file.", path=str(source))
    if out is None or out.suffix != ".onnx":
        raise InputError(
            f"{source} is a bare file: name the .onnx file to make, as in edgeinfer quantize {source} OUT.onnx"
        )
    if out.resolve() == source.resolve():
        raise InputError(f"{out} would replace its own source. Name another file.")
    return QuantizeSource(load_graph(source), tokenizer, max_length or MAX_LENGTH, out=out)


def _folder(folder: Path, out: Path | None, max_length: int | None) -> QuantizeSource:
    if out is not None:
        raise InputError(f"{folder} is a packed folder: its variant is added there. Leave {out} out.")
    manifest = read_manifest(folder)
    if "fp32" not in manifest["variants"]:
        raise ManifestError(
            f"{folder} has no fp32 variant to quantize. Pack it with --dtypes fp32,...", file=str(folder)
        )
    path = folder / manifest["variants"]["fp32"]["files"][0]["path"]
    tokenizer = folder / "tokenizer.json"
    limit = max_length or manifest.get("max_length") or MAX_LENGTH
    return QuantizeSource(load_graph(path), tokenizer if tokenizer.is_file() else None, limit, folder)
