"""A packed folder as evaluation needs it: its variants' files, its outputs with their labels, and feeds of texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeinfer_browser.errors import InputError, ManifestError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.packing.native import feeds_of

Feeds = dict[str, npt.NDArray[Any]]
REFERENCE = "fp32"


@dataclass(frozen=True, slots=True)
class Head:
    """An output that gives labels."""

    output: str
    labels: tuple[str, ...]
    multi_label: bool


@dataclass(frozen=True, slots=True)
class PackedModel:
    """edgeinfer.json as it is (``source``) and as it is read (``manifest``), and the folder it is in."""

    folder: Path
    source: dict[str, Any]
    manifest: ModelManifest

    @classmethod
    def read(cls, folder: Path) -> PackedModel:
        """The model in a folder that ``edgeinfer pack`` made.

        Raises:
            ManifestError: when there is no edgeinfer.json, it cannot be read, or it has no fp32 to compare with.
            InputError: when the model does not take texts.
        """
        path = folder / "edgeinfer.json"
        if not path.is_file():
            raise ManifestError(
                f"{folder} has no edgeinfer.json. Make such a folder with edgeinfer pack.", file=str(path)
            )
        text = path.read_bytes()
        manifest = ModelManifest.from_json(text, str(path))
        if REFERENCE not in manifest.variants:
            raise ManifestError(
                f"{folder} has no fp32 variant ({', '.join(manifest.variants)}), and agreement is measured against it. "
                "Pack the model again with fp32 among its variants.",
                file=str(path),
            )
        if "input_ids" not in manifest.inputs:
            raise InputError(
                f"{folder} takes {', '.join(manifest.inputs)}, and texts give input_ids. "
                "Only models of texts can be evaluated.",
                inputs=list(manifest.inputs),
            )
        return cls(folder, json.loads(text), manifest)

    @property
    def dtypes(self) -> list[str]:
        """fp32 first, then the others as edgeinfer.json has them."""
        return [REFERENCE, *(dtype for dtype in self.manifest.variants if dtype != REFERENCE)]

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs that pipelines read, an embedding before logits."""
        return sorted(self.manifest.wanted_outputs, key=lambda name: name.endswith("logits"))

    def files(self, dtype: str) -> list[str]:
        """Paths of a variant's files in the folder: the .onnx first."""
        return [file.path for file in self.manifest.variant(dtype).files]

    def heads(self) -> list[Head]:
        """Every output that gives labels."""
        entries: Sequence[Mapping[str, Any]] = self.source.get("heads") or ()
        if not entries and self.manifest.labels and "logits" in self.outputs:
            entries = [{"output": "logits", "labels": self.manifest.labels, "problem_type": self.manifest.problem_type}]
        return [
            Head(entry["output"], tuple(entry["labels"]), entry["problem_type"].startswith("multi_label"))
            for entry in entries
            if entry["problem_type"] != "regression"
        ]

    def multi_label(self, output: str) -> bool:
        """Whether an output's labels are told each by its own score, so that a text may have several."""
        return any(head.output == output and head.multi_label for head in self.heads())

    def feeds(self, texts: Iterable[str]) -> list[Feeds]:
        """What the model is fed for each text, [1, tokens]."""
        return feeds_of(self.folder / "tokenizer.json", texts, self.manifest.inputs, self.manifest.max_length)

    def feeds_of_length(self, texts: Sequence[str], lengths: Iterable[int]) -> dict[int, Feeds]:
        """One feed of exactly each length in tokens, cut from the texts one after another.

        Lengths over the model's limit are left out.
        """
        lengths = [length for length in lengths if length <= self.manifest.max_length]
        words = cycle(" ".join(texts).split() or ["text"])
        running = " ".join(islice(words, max(lengths, default=0)))  # a word is one token at least
        tokenizer = self.folder / "tokenizer.json"
        made = {length: feeds_of(tokenizer, [running], self.manifest.inputs, length)[0] for length in lengths}
        return {length: feeds for length, feeds in made.items() if np.shape(feeds["input_ids"])[1] == length}
