"""The search: it reaches what plain int8 does not, says what it tried, and what would reach what it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgeinfer_browser.errors import GraphError, InputError, TargetError
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization import channel_search
from edgeinfer_browser.quantization.closeness import closeness
from edgeinfer_browser.quantization.found_recipe import FoundRecipe, apply_recipe
from edgeinfer_browser.quantization.matrices import initializers
from edgeinfer_browser.quantization.paired_ratio import PairedRatio
from edgeinfer_browser.quantization.recipe_file import read_recipe, variant_maker, write_recipe
from edgeinfer_browser.quantization.search import Found, search
from edgeinfer_browser.quantization.search_log import SearchLog, Trial
from edgeinfer_browser.quantization.slowdown import Slowdown
from edgeinfer_browser.quantization.target import Target
from tests.outlier_encoder import encoder, feeds

CALIBRATION, EVALUATION = feeds(24), feeds(24, seed=4)
TARGET = Target(cosine=0.9998, worst=0.998)


@pytest.fixture(autouse=True)
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """One strength and one number of outliers: a third of the time."""
    monkeypatch.setattr(channel_search, "STRENGTHS", (0.5,))
    monkeypatch.setattr(channel_search, "OUTLIERS", (2,))


@cache
def found() -> Found:
    return search(encoder(layers=1), TARGET, CALIBRATION)


def measured(model: onnx.ModelProto) -> tuple[float, float]:
    close = closeness(answers(open_session(encoder(layers=1)), EVALUATION), answers(open_session(model), EVALUATION))
    return close.mean, close.worst


def test_it_reaches_on_other_texts_what_plain_int8_does_not() -> None:
    plain, best = measured(apply_recipe(encoder(layers=1), FoundRecipe())), measured(found().model)
    assert plain[0] < TARGET.cosine
    assert best[0] > TARGET.cosine
    assert best[1] > plain[1]


def test_what_it_found_is_the_best_of_what_it_kept() -> None:
    trials = found().tried
    assert trials[0].what == "plain int8, per channel"
    kept = [trial for trial in trials if trial.kept]
    assert kept[-1] == found().best
    assert all(trial.why for trial in trials)


def test_the_same_again_gives_the_same_bytes() -> None:
    again = search(encoder(layers=1), TARGET, CALIBRATION)
    assert again.recipe == found().recipe
    assert again.model.SerializeToString() == found().model.SerializeToString()


def test_a_recipe_comes_back_from_its_file_and_makes_the_same_bytes(tmp_path: Path) -> None:
    write_recipe(tmp_path / "recipe.json", found().recipe)
    assert read_recipe(tmp_path / "recipe.json") == found().recipe
    model, method = variant_maker(tmp_path / "recipe.json")(encoder(layers=1))
    assert model.SerializeToString() == found().model.SerializeToString()
    assert method.startswith("int8-dynamic, searched: per channel, ")


def test_a_recipe_fits_the_same_weights_under_other_names_and_with_another_output() -> None:
    renamed = apply_recipe(encoder(names="exported/again/", output="logits", layers=1), found().recipe)
    given, expected = (answers(open_session(model), EVALUATION) for model in (renamed, found().model))
    assert [each["logits"].tolist() for each in given] == [each["sentence_embedding"].tolist() for each in expected]


def test_a_recipe_refuses_another_model_and_names_what_is_missing() -> None:
    other = encoder(layers=1)
    weight = initializers(other)["layer0/fed0.weight"]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(1.001), weight.name))
    with pytest.raises(GraphError, match=r"another model: 1 of the \d matrices.*layer0/fed0\.weight"):
        apply_recipe(other, found().recipe)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "method": "int4"}'])
def test_a_file_that_is_no_recipe_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(text)
    with pytest.raises(InputError, match=r"recipe\.json"):
        read_recipe(tmp_path / "recipe.json")


def test_a_recipe_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    write_recipe(path, found().recipe)
    fields = json.loads(path.read_text())
    step = next(step for step in fields["channels"] if "scale" in step)
    step["scale"] = step["scale"][:8]
    path.write_text(json.dumps(fields))
    with pytest.raises(GraphError, match="channels"):
        apply_recipe(encoder(layers=1), read_recipe(path))


def test_matrices_stay_in_float_when_nothing_else_is_enough() -> None:
    strict = Target(cosine=found().best.mean + 1e-6)
    kept = search(encoder(layers=1), strict, CALIBRATION)
    assert kept.recipe.keep
    assert kept.best.mean >= strict.cosine
    assert kept.best.slowdown > found().best.slowdown
    assert onnx.TensorProto.FLOAT16 in {tensor.data_type for tensor in kept.model.graph.initializer}


def test_a_target_out_of_reach_says_how_near_it_came_and_what_would_reach_it() -> None:
    target = Target(cosine=0.99999, max_mb=found().tried[0].mb * 1.02)
    with pytest.raises(TargetError, match=r"No int8 file reaches.*short.*What would reach it: .*Nothing was") as caught:
        search(encoder(layers=1), target, CALIBRATION)
    assert caught.value.details["best"]["mb"] <= target.max_mb
    assert all(trial["mean"] >= target.cosine for trial in caught.value.details["would_reach"])


def test_a_size_out_of_reach_says_the_smallest_there_is() -> None:
    with pytest.raises(TargetError, match=r"too large.*smallest that was tried.*int4"):
        search(encoder(layers=1), Target(cosine=0.5, max_mb=0.001), CALIBRATION)


def timed(*ratios: float) -> Callable[[onnx.ModelProto, onnx.ModelProto], Slowdown]:
    """What measures these ratios, one a look."""
    left = iter(ratios)
    return lambda model, plain: Slowdown({8: PairedRatio(next(left), 1.0, 2.0, 3.0, 2.0, 20)})


def test_a_measured_slowdown_over_the_budget_refuses_the_file() -> None:
    with pytest.raises(TargetError, match=r"0\.35x too long"):
        search(encoder(layers=1), Target(0.9, max_slowdown=1.15), CALIBRATION, slowdown=timed(1.4, 1.5))


def test_a_measured_slowdown_is_looked_at_again_before_the_file_is_refused() -> None:
    seen = search(encoder(layers=1), Target(0.9, max_slowdown=1.15), CALIBRATION, slowdown=timed(1.4, 1.1))
    refused, accepted = seen.tried[-2:]
    assert (refused.kept, accepted.kept) == (False, True)
    assert refused.why.startswith("over the budget of 1.15x: 8 tokens 1.40x")
    assert seen.best == accepted
    assert accepted.slowdown_measured
    assert accepted.slowdown == 1.1


def test_one_text_is_too_few() -> None:
    with pytest.raises(InputError, match="calibration texts"):
        search(encoder(layers=1), TARGET, CALIBRATION[:1])


def test_the_log_has_a_line_for_each_trial_on_paper_and_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = SearchLog(tmp_path / "log.jsonl")
    log.add(Trial("embeddings", 23.1, 0.9991, 0.9978, 1.02, kept=True, why="+0.00030"))
    log.add(Trial("smoothing", 23.1, 0.9981, 0.9968, 1.01, slowdown_measured=True, same_label=0.995, why="-0.001"))
    log.note("A matrix is left out.")
    log.close()
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("+ embeddings")
    assert "same label 99.5%" in second
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["kept"] for line in lines[:2]] == [True, False]
    assert lines[2] == {"note": third.strip()}


def test_the_log_says_why_a_matrix_is_left_out() -> None:
    model = encoder(layers=1)
    matmul = next(node for node in model.graph.node if node.op_type == "MatMul")
    model.graph.node.append(helper.make_node("MatMul", list(matmul.input), ["again"], name="again"))
    notes: list[str] = []
    search(model, Target(0.5), CALIBRATION, note=notes.append)
    assert len(notes) == 1
    assert notes[0].startswith(f"{matmul.input[1]} (32x32) is left out of the search: 2 nodes read it")
