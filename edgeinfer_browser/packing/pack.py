"""pack(): from a source to a folder that browser and server can both trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.variants import VariantMaker

#: What pack() can do.
TASKS = ("feature-extraction", "image-classification", "text-classification")


@dataclass(frozen=True, slots=True)
class Options:
    """What may be said beside source, target and task."""

    licence: str = ""
    attribution: tuple[str, ...] = ()
    #: Files of heads to join to the encoder (``edgeinfer head fit`` makes them).
    heads: tuple[Path, ...] = ()
    #: Labels in the order of the logits; None takes config.json's.
    labels: tuple[str, ...] | None = None
    #: ``mean``, ``cls`` or ``none``; None takes the source's (1_Pooling/config.json), else ``mean``.
    pooling: str | None = None
    #: L2-normalise embeddings; None takes the source's (modules.json), else yes.
    normalize: bool | None = None
    max_length: int | None = None
    config: Path | None = None
    tokenizer: Path | None = None
    #: Take the variants that the source has, as they are, instead of making them.
    keep_variants: bool = False
    split_mb: float | None = None
    #: None skips the check in a browser; edgeinfer.json then says so.
    browser: BrowserCheck | None = field(default_factory=BrowserCheck)


def pack(
    source: str | Path, out: Path, task: str, *, variants: Mapping[str, VariantMaker], options: Options | None = None
) -> dict[str, Any]:
    """Make ``out`` and return its edgeinfer.json.

    Args:
        source: a folder in Hugging Face layout, an .onnx file, a folder with PyTorch weights, or a hub id.
        out: the folder to make; its name becomes the model's name.
        task: one of :data:`TASKS`.
        variants: dtype -> how it is made from the fp32 model. fp32 itself is always there.
        options: the rest.
    """
    raise NotImplementedError
