"""What may be said to pack() beside source, target and task."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from edgeinfer_browser.packing.browser_check import BrowserCheck
from edgeinfer_browser.packing.pooling import Pooling


@dataclass(frozen=True, slots=True)
class Options:
    """Every one has a default that suits a model as it is published."""

    licence: str = ""
    attribution: tuple[str, ...] = ()
    #: Files of heads to join to the encoder (``edgeinfer head fit`` makes them).
    heads: tuple[Path, ...] = ()
    #: Labels in the order of the logits; None takes config.json's.
    labels: tuple[str, ...] | None = None
    #: ``mean``, ``cls`` or ``none``; None takes the source's (1_Pooling/config.json), else ``mean``.
    pooling: Pooling | None = None
    #: L2-normalise embeddings; None takes the source's (modules.json), else yes.
    normalize: bool | None = None
    #: Most tokens of a text; None takes the source's.
    max_length: int | None = None
    #: Files in the place of the source's config.json and tokenizer.json.
    config: Path | None = None
    tokenizer: Path | None = None
    #: Write the fp32 variant too. The others are measured against it either way.
    float32: bool = True
    #: Take the variants that the source has, instead of making them.
    keep_variants: bool = False
    #: Most MiB of one file of weights.
    split_mb: float | None = None
    #: None skips the check in a browser; edgeinfer.json then says so.
    browser: BrowserCheck | None = field(default_factory=BrowserCheck)
    #: Digests of the texts that variants are calibrated on (:func:`edgeinfer_browser.packing.texts.digest_of`).
    calibration: tuple[str, ...] = ()
