"""One variant of a packed model: write its files, run them natively and in the browser, and say what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx

from edgeinfer_browser.packing.browser_check import BrowserCheck

#: From the packed fp32 model to a variant, and the text of how it was made.
VariantMaker = Callable[[onnx.ModelProto], tuple[onnx.ModelProto, str]]


def put_variant(
    folder: Path,
    dtype: str,
    model: onnx.ModelProto,
    method: str,
    calibration: Sequence[str] = (),
    *,
    browser: BrowserCheck | None,
    split_mb: float | None = None,
) -> dict[str, Any]:
    """Add a variant to a packed folder, or replace the one it has; the folder is whole before and after.

    Args:
        folder: a folder that ``edgeinfer pack`` made.
        dtype: ``fp16``, ``q8``, ...: it names the file and is the key in edgeinfer.json.
        model: the variant, with the inputs and outputs of the fp32 model.
        method: how it was made, for people to read.
        calibration: digests (:func:`edgeinfer_browser.packing.texts.digest_of`) of the texts it was calibrated on;
            they are added to those that edgeinfer.json has.
        browser: what to check it with; None skips the check, and the variant's warnings say so.
        split_mb: most MiB of one external data file; None writes one file.

    Returns:
        The variant as edgeinfer.json has it.

    Raises:
        UnknownNameError: for a dtype that does not exist.
        GraphError: when its inputs or outputs are other ones, or native and browser disagree on the golden samples.
        OutputError: when it could not be written.
        InputError: when there is no browser to check it with.
    """
    raise NotImplementedError
