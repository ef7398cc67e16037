"""Advice where nothing was measured on texts: the golden samples decide, and what is not WebGPU needs no feature."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinfer_browser.packing.advice import advise
from edgeinfer_browser.packing.quality import golden_logits_apart, worst_golden_cosine
from tests.unit.test_advice import advised, manifest_of, measured


def golden(output: str, *rows: list[float]) -> dict[str, Any]:
    return {"golden": [{output: {"dtype": "float32", "dims": [1, len(row)], "data": row}} for row in rows]}


def classifier(apart: float, **more: Any) -> dict[str, Any]:
    """fp32 and q8 of a classifier whose golden logits are this far apart."""
    q8 = {"agreement": {"max_abs_difference": apart, **more}} | golden("logits", [5.0 - apart, -5.0])
    return manifest_of("fp32", "q8", q8=q8, fp32=golden("logits", [5.0, -5.0]))


def test_logits_that_stray_on_the_golden_samples_are_not_advised() -> None:
    source = classifier(1.2)
    assert golden_logits_apart(source, "q8") == pytest.approx(0.24)
    advice = advise(source)
    assert {each["tier"] for each in advice["not_advised"]} == {"webgpu", "wasm", "native"}
    assert "24% of the largest" in advice["not_advised"][0]["why"]
    assert advised(advice, "wasm", set()) == "fp32"


def test_logits_that_stay_near_are_advised_and_the_distance_is_told() -> None:
    advice = advise(classifier(0.2))
    assert advised(advice, "wasm", set()) == "q8"
    assert "within 4.0% of the largest" in next(each["why"] for each in advice["files"] if each["dtype"] == "q8")


def test_what_was_measured_on_texts_counts_more_than_golden_samples() -> None:
    source = classifier(1.2, texts=1000, same_label=0.99)
    assert advised(advise(source), "wasm", set()) == "q8"


def test_embeddings_are_judged_by_their_worst_golden_cosine() -> None:
    name = "sentence_embedding"
    q8 = golden(name, [1.0, 0.0], [0.6, 0.8])
    source = manifest_of("fp32", "q8", output=name, q8=q8, fp32=golden(name, [1.0, 0.0], [0.0, 1.0]))
    assert worst_golden_cosine(source, "q8") == pytest.approx(0.8)
    assert "0.8000, below 0.95, on the golden samples" in advise(source)["not_advised"][0]["why"]


def test_a_file_that_needs_a_feature_of_the_gpu_is_advised_for_wasm_without_it() -> None:
    source = manifest_of("fp32", "q8", q8={"features": ["shader-f16"], **measured(same_label=1.0)})
    files = advise(source)["files"]
    assert [(each["dtype"], each["needs"]) for each in files if each["tier"] == "wasm"] == [("q8", [])]
    assert [(each["dtype"], each["needs"]) for each in files if each["tier"] == "native"] == [("q8", [])]


def test_image_models_are_not_sent_to_evaluate() -> None:
    source = manifest_of("fp32", "fp16") | {"task": "image-classification"}
    said = advise(source)["warnings"]
    poor = classifier(1.2) | {"task": "image-classification"}
    assert "--calibration FOLDER" in next(each["do"] for each in advise(poor)["warnings"] if "q8 is" in each["what"])
    assert any("not measured on pictures" in each["what"] for each in said)
    assert any("--calibration FOLDER" in each["do"] for each in said)
    assert not any("--texts" in each["do"] for each in said)
