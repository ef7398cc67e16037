"""A tier whose answers are not native ONNX Runtime's is told of, with the figure that says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from edgeinfer_browser.evaluation.browser import STRAY_COSINE, STRAY_SCORE, measure_in_browser
from edgeinfer_browser.evaluation.packed_model import PackedModel
from edgeinfer_browser.evaluation.tiers import Answers, Workload
from edgeinfer_browser.headless.session import WebSession, WebSessions
from edgeinfer_browser.manifest import ModelManifest
from tests.unit.fakes import manifest_json

EMBEDDING = "sentence_embedding"
TOKENS = (4, 9, 6)
FEEDS = [{"input_ids": np.zeros((1, tokens), np.int64)} for tokens in TOKENS]


class Answering(WebSession):
    """A session in no browser, which gives these answers one after the other."""

    def __init__(self, given: Answers) -> None:
        super().__init__(cast(Any, None), 1, "wasm", {})
        self._given = iter(given)

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """The next one."""
        return next(self._given)

    def memory(self) -> int:
        """Some."""
        return 1

    def close(self) -> None:
        """Nothing is open."""


def warnings(output: str, native: list[list[float]], given: list[list[float]]) -> list[str]:
    """What is said of a tier that answers ``given`` where native ONNX Runtime answers ``native``, in fp32."""
    outputs = [{"name": name, "dtype": "float32", "dims": ["batch_size", 2]} for name in ("logits", EMBEDDING)]
    source = manifest_json(("fp32",), outputs=outputs)
    model = PackedModel(Path(), source, ModelManifest.from_json(json.dumps(source), "edgeinfer.json"))
    same = {name: np.array([[1, 0]], np.float32) for name in ("logits", EMBEDDING)}
    truth, answered = ([same | {output: np.array([row], np.float32)} for row in rows] for rows in (native, given))
    web = SimpleNamespace(create=lambda files, tier, outputs: Answering(answered))
    tier = measure_in_browser(cast(WebSessions, web), "wasm", model, Workload(FEEDS, {}, 1), {"fp32": truth})
    assert tier.variants["fp32"]["texts"] == len(FEEDS)
    return tier.warnings


def at(cosine: float) -> list[float]:
    """A vector of length 1 with this cosine to [1, 0]."""
    return [cosine, float(np.sqrt(1 - cosine**2))]


def scored(score: float) -> list[float]:
    """Two logits whose softmax is [1 - score, score]."""
    return [0.0, float(np.log(score / (1 - score)))]


@pytest.mark.parametrize("cosine", [0.5, STRAY_COSINE - 0.002])
def test_an_embedding_that_strays_is_told_with_its_cosine_and_the_texts_length(cosine: float) -> None:
    (line,) = warnings(EMBEDDING, [[1, 0]] * 3, [[1, 0], at(cosine), at(0.999)])
    assert line.startswith("wasm does not answer what native ONNX Runtime answers with fp32: sentence_embedding, ")
    assert f"the cosine falls to {cosine:.4f}" in line
    assert f"on a text of {TOKENS[1]} tokens" in line


@pytest.mark.parametrize("score", [0.9, 0.5 + STRAY_SCORE + 0.01])
def test_a_score_that_strays_is_told_with_how_far(score: float) -> None:
    (line,) = warnings("logits", [scored(0.5)] * 3, [scored(0.5), scored(0.5), scored(score)])
    assert f"logits, a score changes by {score - 0.5:.2f}" in line


def test_answers_that_are_not_finite_are_told() -> None:
    assert len(warnings(EMBEDDING, [[1, 0]] * 3, [[1, 0], [np.nan, 0], [1, 0]])) == 1


def test_what_integer_kernels_round_is_not_told() -> None:
    assert warnings(EMBEDDING, [[1, 0]] * 3, [at(STRAY_COSINE + 0.002)] * 3) == []
    assert warnings("logits", [scored(0.5)] * 3, [scored(0.5 + STRAY_SCORE - 0.01)] * 3) == []
