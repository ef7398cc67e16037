"""ModelManifest: what a model folder holds, so that a tier and a file can be chosen before anything is downloaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeinfer_browser.errors import ManifestError, UnknownNameError
from edgeinfer_browser.manifest.outputs import wanted_outputs
from edgeinfer_browser.manifest.parts import Calibration, HeadSpec, ModelFile, Variant
from edgeinfer_browser.tensors import Tensor


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """A model folder, read. ``variants`` is by dtype; ``files`` are the small ones by path."""

    name: str
    task: str
    revision: str
    labels: tuple[str, ...]
    problem_type: str
    max_length: int
    inputs: tuple[str, ...]
    variants: Mapping[str, Variant]
    files: Mapping[str, ModelFile] = field(default_factory=dict)
    golden_inputs: tuple[Mapping[str, Tensor], ...] = ()
    packed: bool = True
    outputs: tuple[str, ...] = ()
    heads: tuple[HeadSpec, ...] = ()
    #: The text that each golden input was made of; None where it was made of something else.
    golden_texts: tuple[str | None, ...] = ()
    #: Weights of the fp32 graph; 0 when not known.
    parameters: int = 0
    calibration: Calibration | None = None
    #: Which dtype for which tier, and why; as it stands in the file.
    advice: Any = None
    #: What the graph does to its raw input; as it stands in the file.
    preprocessing: Mapping[str, Any] | None = None
    license: str = ""
    attribution: tuple[str, ...] = ()

    @property
    def not_guaranteed(self) -> tuple[str, ...]:
        """What the folder cannot promise, in sentences; () for a packed one, whose samples prove each tier."""
        if not self.packed:
            return (
                "Not packed: the folder has no edgeinfer.json, so its files are not verified, no tier is proved by a "
                "golden sample (answers that a GPU computes wrongly would not be noticed), which dtypes there are "
                "shows only when they are fetched, and the API may run another revision of the model. "
                "edgeinfer pack makes one.",
            )
        if not self.golden_inputs:
            return (
                "Not proved: edgeinfer.json has no golden samples, so answers that a GPU computes wrongly would not be "
                "noticed. edgeinfer pack writes some.",
            )
        return ()

    @property
    def wanted_outputs(self) -> tuple[str, ...]:
        """The outputs that a run is asked for; () is all there are, for a folder that does not say which."""
        return wanted_outputs(self.outputs)

    def variant(self, dtype: str) -> Variant:
        """The variant of a dtype.

        Raises:
            UnknownNameError: when the folder has none; the message lists those it has.
        """
        if dtype not in self.variants:
            raise UnknownNameError.of(f"dtype of model {self.name!r}", dtype, self.variants)
        return self.variants[dtype]

    def head(self, name: str) -> HeadSpec:
        """A head by name.

        Raises:
            UnknownNameError: when the model has none of that name; the message lists those it has.
        """
        heads = {head.name: head for head in self.heads}
        if name not in heads:
            raise UnknownNameError.of(f"head of model {self.name!r}", name, heads)
        return heads[name]

    @classmethod
    def from_json(cls, text: bytes | str, url: str) -> ModelManifest:
        """Read ``edgeinfer.json``: what the schema refuses is refused, and what contradicts itself.

        Raises:
            ManifestError: naming the place and what is wrong with it.
        """
        from edgeinfer_browser.manifest.packed import packed_manifest  # it builds this class

        return packed_manifest(_object(text, url), url)

    @classmethod
    def from_hugging_face(
        cls, config: bytes | str, name: str, url: str, task: str, tokenizer_config: bytes | str = b"{}"
    ) -> ModelManifest:
        """Make do with ``config.json`` and, when there is one, ``tokenizer_config.json``: labels and the length limit.

        Sizes, hashes and dtypes are not known.

        Raises:
            ManifestError: when either is no JSON object, or has something of the wrong type.
        """
        from edgeinfer_browser.manifest.plain import plain_manifest  # it builds this class

        limits = _object(tokenizer_config, f"{url.rpartition('/')[0]}/tokenizer_config.json")
        return plain_manifest(_object(config, url), limits, name, task, url)


def _object(text: bytes | str, url: str) -> dict[str, Any]:
    try:
        source = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{url} is not JSON: {error}.", url=url) from error
    if not isinstance(source, dict):
        raise ManifestError(f"{url} is a JSON {type(source).__name__}, not an object.", url=url)
    return source


def _refuse_constant(name: str) -> float:
    """Python reads NaN and Infinity where JSON has neither."""
    raise ValueError(f"{name} is no JSON number")
