"""Head: a small linear classifier that reads what a shared encoder says, and its file, ``head.json`` (a few kB).

::

    {"format": 1, "name": "sentiment", "task": "text-classification", "labels": ["negative", "positive"],
     "problem_type": "single_label_classification", "features": "every_layer", "encoder": "3f1c...",
     "weights": [[...], [...]], "bias": [...],
     "accuracy": {"cross_validated": 0.85, "spread": 0.01, "majority": 0.55, "folds": 5, "texts": 18009}}

``logits = features @ weights.T + bias``, one row of weights for each label. ``features`` says what is read:
``sentence_embedding`` [width], or ``every_layer`` [layers x width], the masked mean of each layer's output, embeddings
first. ``encoder`` is what :func:`encoder_digest` gives for the model the head was trained on.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, numpy_helper

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.pipelines.labels import MULTI_LABEL, SINGLE_LABEL

Floats = npt.NDArray[np.float32]
Features = Literal["sentence_embedding", "every_layer"]

#: The version of the head file's format that this package reads and writes.
FORMAT = 1
TASK = "text-classification"
FEATURES: tuple[Features, ...] = get_args(Features)

#: A head's name becomes part of an output's name and of URLs.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Head:
    """``weights`` float32 [labels, features], ``bias`` float32 [labels]."""

    name: str
    labels: tuple[str, ...]
    problem_type: str
    features: Features
    weights: Floats
    bias: Floats
    #: ``cross_validated``, ``spread``, ``majority``, ``folds``, ``texts``; empty when it was not measured.
    accuracy: Mapping[str, float] = field(default_factory=dict)
    #: :func:`encoder_digest` of the model it was trained on; "" when that is not known.
    encoder: str = ""

    def __post_init__(self) -> None:
        require_name(self.name)
        _require(self.features in FEATURES, f"features {self.features!r}: they are one of {', '.join(FEATURES)}")
        _require(self.problem_type in (SINGLE_LABEL, MULTI_LABEL), f"problem_type {self.problem_type!r}")
        count = len(self.labels)
        _require(count > (self.problem_type == SINGLE_LABEL), f"{count} labels: there is nothing to choose")
        _require(len(set(self.labels)) == count, "a label that comes twice")
        _require(
            self.weights.ndim == 2 and len(self.weights) == count,
            f"{len(self.weights)} rows of weights for {count} labels",
        )
        _require(self.bias.shape == (count,), f"{self.bias.size} biases for {count} labels")
        _require(bool(np.isfinite(self.weights).all() and np.isfinite(self.bias).all()), "weights that are not finite")


def require_name(name: str) -> None:
    """Refuse a name that cannot be part of an output's name.

    Raises:
        InputError: saying what a name may have.
    """
    _require(_NAME.fullmatch(name), f"name {name!r}: it begins with a letter, and has letters, digits, - and _ alone")


def read_head(path: Path) -> Head:
    """Read a head file.

    Raises:
        InputError: when it is not there, is no head of this format, or its weights do not match its labels.
    """
    try:
        source = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.", path=str(path)) from error
    if not isinstance(source, dict) or source.get("format") != FORMAT or source.get("task") != TASK:
        raise InputError(
            f"{path} is no head of format {FORMAT} for {TASK}. Fit it with edgeinfer head fit.", path=str(path)
        )
    try:
        return _head(source)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a usable head: {error}. Fit it again.", path=str(path)) from error


def head_json(head: Head) -> str:
    """The text of the head's file: JSON, with a line for each label's weights, rounded as they are."""
    rows = ",\n".join(json.dumps([_short(value) for value in row], separators=(",", ":")) for row in head.weights)
    fields = {
        "format": FORMAT,
        "name": head.name,
        "task": TASK,
        "labels": list(head.labels),
        "problem_type": head.problem_type,
        "features": head.features,
        "encoder": head.encoder,
        "accuracy": dict(head.accuracy),
        "bias": [_short(value) for value in head.bias],
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    return "{\n" + ",\n".join(lines) + f',\n"weights": [\n{rows}\n]\n}}\n'


def encoder_digest(model: onnx.ModelProto) -> str:
    """What an encoder is known by: 16 hex digits of the sha256 of its largest weight, the embedding table.

    Fusing and simplifying leave that table as it is, so it is the same before and after packing. "" when it is not
    float32: the model was converted.
    """
    largest = max(model.graph.initializer, key=lambda tensor: math.prod(tensor.dims), default=None)
    if largest is None or largest.data_type != TensorProto.FLOAT:
        return ""
    return hashlib.sha256(numpy_helper.to_array(largest).tobytes()).hexdigest()[:16]


def _head(source: Mapping[str, Any]) -> Head:
    return Head(
        name=str(source["name"]),
        labels=tuple(map(str, _list(source["labels"]))),
        problem_type=str(source["problem_type"]),
        features=cast("Features", source["features"]),
        weights=np.array(source["weights"], np.float32),
        bias=np.array(source["bias"], np.float32),
        accuracy=dict(source.get("accuracy") or {}),
        encoder=str(source.get("encoder") or ""),
    )


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise TypeError(f"labels is {value!r:.40}, not a list")
    return value


def _require(holds: object, what: str) -> None:
    if not holds:
        raise InputError(f"A head may not have {what}.")


def _short(value: np.float32) -> float:
    """The shortest decimal that gives the same float32."""
    return float(str(value))
