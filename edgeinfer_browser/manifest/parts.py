"""What a manifest is made of: files, variants, heads, the texts of a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgeinfer_browser.tensors import Tensor

#: dtype -> suffix of the .onnx file's name, as transformers.js has it.
SUFFIXES = {"fp32": "", "fp16": "_fp16", "q8": "_quantized", "q4": "_q4", "q4f16": "_q4f16"}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of the folder: path relative to it, size in bytes and sha256 (hex); 0 and "" when not known."""

    path: str
    bytes: int = 0
    sha256: str = ""
    #: It may be missing: nothing says whether a plain folder's graph has external data.
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Variant:
    """One dtype of the model: its .onnx file first, then its external data files."""

    dtype: str
    files: tuple[ModelFile, ...]
    #: Bytes of the largest initializer: WebGPU must be able to bind it. 0 when not known.
    largest_tensor: int = 0
    #: WebGPU features the graph needs, e.g. ``shader-f16``.
    features: tuple[str, ...] = ()
    #: Largest difference to a golden output that still counts as agreement, as a share of that output's largest value.
    tolerance: float = 0.05
    #: What native ONNX Runtime answered to each golden input: output name -> tensor.
    golden_outputs: tuple[Mapping[str, Tensor], ...] = ()
    #: How it was made, for people.
    method: str = ""
    #: Measured: ``max_abs_difference``, ``mean_cosine``, ... (the schema describes each).
    agreement: Mapping[str, float] = field(default_factory=dict)
    #: What its users should know.
    warnings: tuple[str, ...] = ()
    #: Where the files are in a plain folder that has none at ``files``.
    elsewhere: tuple[ModelFile, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes to download for this dtype; 0 when not known."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class HeadSpec:
    """A small classifier on a shared encoder: ``output`` has its logits, float32 [batch_size, labels]."""

    name: str
    output: str
    labels: tuple[str, ...]
    problem_type: str
    #: Measured at training: ``cross_validated``, ``majority``, ``folds``, ``texts``; empty when not known.
    accuracy: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The texts that quantizers looked at: how many, and the digest of each."""

    texts: int
    digests: tuple[str, ...]
