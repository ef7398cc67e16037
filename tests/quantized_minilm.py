"""The real MiniLM with its masked mean in the graph, and every quantized variant of it: made once a run, on demand."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from sentiment_data import load_split

from edgeinfer_browser.manifest import EMBEDDING
from edgeinfer_browser.packing.native import answers, feeds_of, open_session
from edgeinfer_browser.packing.pooling import pooled
from edgeinfer_browser.quantization.calibration import Array
from edgeinfer_browser.quantization.recipes import quantize

MINILM = Path(__file__).resolve().parent.parent / ".cache/sources/minilm"
WIDTH, MAX_TOKENS = 384, 128
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@cache
def model() -> onnx.ModelProto:
    """Float32: three inputs, ``sentence_embedding`` [batch_size, 384] of length 1."""
    return pooled(onnx.load(str(MINILM / "onnx/model.onnx")), "last_hidden_state", WIDTH, "mean", True)


@cache
def feeds(split: str, count: int) -> list[dict[str, Array]]:
    """The first texts of ``calibration`` or ``evaluation``, which share none."""
    texts = [text.text for text in load_split(split)[:count]]  # type: ignore[arg-type]
    return feeds_of(MINILM / "tokenizer.json", texts, INPUTS, MAX_TOKENS)


@cache
def variant(method: str, **options: Any) -> onnx.ModelProto:
    """MiniLM by a method, calibrated on 30 texts."""
    return quantize(model(), method, calibration=feeds("calibration", 30), **options)


def embeddings(of: onnx.ModelProto | Path, count: int) -> npt.NDArray[np.float32]:
    """[count, 384]: what native ONNX Runtime gives for the first evaluation texts."""
    made = answers(open_session(of), feeds("evaluation", count))
    return np.concatenate([each[EMBEDDING] for each in made])


def cosines(left: npt.NDArray[np.float32], right: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Row by row."""
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / norms, np.float64)
