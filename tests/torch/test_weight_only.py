"""The methods that need torch or a companion tool: HQQ, GPTQ and AWQ, on a graph in miniature."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from fetch_companion import fetch
from onnx import TensorProto

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization.recipes import RECIPES, quantize
from tests.quantizable import text_encoder, text_feeds

CALIBRATION, EVALUATION = text_feeds(12, seed=1), text_feeds(12, seed=2)
ROOT = Path(__file__).resolve().parent.parent.parent

#: Least mean cosine to float32; measured, less a margin.
FLOOR = 0.985
METHODS = [f"int4-weights-{name}{rest}" for name in ("hqq", "gptq", "awq") for rest in ("", "-fp16")]


@pytest.fixture(autouse=True, scope="module")
def companion() -> Iterator[None]:
    """onnx-neural-compressor, importable."""
    sys.path.append(str(fetch()))
    yield
    sys.path.remove(str(fetch()))


def embeddings(model: onnx.ModelProto) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.concatenate([each["sentence_embedding"] for each in answers(open_session(model), EVALUATION)])


@pytest.mark.parametrize("method", METHODS)
def test_a_method_gives_4_bit_matrices_that_agree_with_float32(method: str) -> None:
    model = text_encoder()
    before = model.SerializeToString()
    made = quantize(model, method, calibration=CALIBRATION, keep=["/lowered"])
    assert model.SerializeToString() == before
    left, right = embeddings(model), embeddings(made)
    reached = (left * right).sum(1) / (np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1))
    assert reached.mean() >= FLOOR
    bits = {
        next(a.i for a in node.attribute if a.name == "bits") for node in made.graph.node if "NBits" in node.op_type
    }
    assert bits == {4}
    weights = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
    assert weights["down"] == TensorProto.FLOAT, "the node to keep"
    assert "up" not in weights
    assert (TensorProto.FLOAT16 in weights.values()) == method.endswith("fp16")


def test_gptq_passes_errors_on_so_that_what_a_layer_gives_is_nearer_than_by_rounding() -> None:
    model = text_encoder()
    feeds = text_feeds(60, seed=5)
    left, [gptq, rtn] = (
        embeddings(model),
        [
            embeddings(quantize(model, f"int4-weights-{name}", calibration=feeds, embeddings="float32"))
            for name in ("gptq", "rtn")
        ],
    )
    errors = [float(np.square(right - left).mean()) for right in (gptq, rtn)]
    print(f"mean squared error: GPTQ {errors[0]:.2g}, round to nearest {errors[1]:.2g}")
    assert errors[0] < 0.9 * errors[1]


@pytest.mark.parametrize("method", ["int4-weights-hqq", "int4-weights-gptq", "int4-weights-awq"])
def test_every_process_makes_the_same_bytes(method: str) -> None:
    code = (
        "import hashlib, sys; sys.path.append(sys.argv[2])\n"
        "from edgeinfer_browser.quantization.recipes import quantize\n"
        "from tests.quantizable import text_encoder, text_feeds\n"
        "made = quantize(text_encoder(), sys.argv[1], calibration=text_feeds(12, seed=1))\n"
        "print(hashlib.sha256(made.SerializeToString()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "2"):
        words = [sys.executable, "-c", code, method, str(fetch())]
        done = subprocess.run(
            words, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip().splitlines()[-1])
    assert len(digests) == 1


@pytest.mark.parametrize("method", [name for name in METHODS if RECIPES[name].needs_calibration])
def test_calibration_with_one_text_is_refused(method: str) -> None:
    with pytest.raises(InputError, match="there is one"):
        quantize(text_encoder(), method, calibration=CALIBRATION[:1])
