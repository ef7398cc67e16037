"""MiniLM by its committed recipe: close to float32 on texts that the search never saw, small, the same every time."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import onnx
import pytest
from sentiment_data import load_split

from edgeinfer_browser.packing.graph_file import load_graph
from edgeinfer_browser.packing.native import answers, feeds_of, open_session
from edgeinfer_browser.packing.pooling import pooled
from edgeinfer_browser.packing.texts import require_disjoint
from edgeinfer_browser.quantization.closeness import Closeness, closeness
from edgeinfer_browser.quantization.found_recipe import FoundRecipe, apply_recipe
from edgeinfer_browser.quantization.recipe_file import read_recipe
from edgeinfer_browser.quantization.trials import file_mb

ROOT = Path(__file__).resolve().parent.parent.parent
MINILM = ROOT / ".cache/sources/minilm"
RECIPE = ROOT / "models/minilm/quantization.json"
TEXTS = [text.text for text in load_split("evaluation")[:200]]
MAX_LENGTH = 256


@cache
def float32() -> onnx.ModelProto:
    """Mean of the tokens, L2-normalised."""
    return pooled(load_graph(MINILM / "onnx/model.onnx"), "last_hidden_state", 384, "mean", True)


@cache
def close(plain: bool) -> Closeness:
    """How close to float32 plain int8 is, or what the committed recipe makes."""
    model = float32()
    feeds = feeds_of(MINILM / "tokenizer.json", TEXTS, [value.name for value in model.graph.input], MAX_LENGTH)
    made = apply_recipe(model, FoundRecipe() if plain else read_recipe(RECIPE))
    return closeness(answers(open_session(model), feeds), answers(open_session(made), feeds))


def test_the_texts_it_is_held_to_are_not_those_it_was_searched_on() -> None:
    calibration = read_recipe(RECIPE).calibration
    assert calibration["texts"] == 200
    require_disjoint(TEXTS, calibration["digests"], "calibration")


def test_every_text_keeps_its_embedding() -> None:
    measured = close(plain=False)
    assert measured.mean >= 0.998
    assert measured.worst >= 0.99


def test_it_loses_a_fifth_of_what_plain_int8_loses_or_less() -> None:
    assert 1 - close(plain=False).mean <= (1 - close(plain=True).mean) / 5


def test_it_is_small_and_the_same_every_time() -> None:
    first, second = (apply_recipe(float32(), read_recipe(RECIPE)) for _ in range(2))
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
    assert file_mb(first) <= 26
    assert RECIPE.stat().st_size < 100_000


@pytest.mark.parametrize("name", ["minilm", "sentiment"])
def test_every_committed_recipe_fits_the_encoder(name: str) -> None:
    recipe = read_recipe(ROOT / f"models/{name}/quantization.json")
    made = apply_recipe(float32(), recipe)
    assert {node.op_type for node in made.graph.node} >= {"MatMulInteger", "DynamicQuantizeLinear"}
