"""What the search is made of: matrices found by structure, rewrites that are exact in float, targets, closeness."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization.channels import channel_magnitudes
from edgeinfer_browser.quantization.closeness import closeness
from edgeinfer_browser.quantization.embedding_rows import quantize_rows
from edgeinfer_browser.quantization.left_out import left_out
from edgeinfer_browser.quantization.matrices import by_input, by_role, find_matrices, initializers, with_matmuls
from edgeinfer_browser.quantization.outliers import add_side_product, largest_channels
from edgeinfer_browser.quantization.search_log import Trial
from edgeinfer_browser.quantization.smoothing import scale_channels, smoothing_scale
from edgeinfer_browser.quantization.target import Target, parse_target
from tests.outlier_encoder import LAYERS, MIDDLE, WIDTH, encoder, feeds

FEEDS = feeds(8)


def outputs(model: onnx.ModelProto) -> np.ndarray:
    return np.concatenate([next(iter(each.values())) for each in answers(open_session(model), FEEDS)])


def operators(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def test_matrices_are_found_by_structure_and_known_by_their_values() -> None:
    found, renamed = find_matrices(with_matmuls(encoder())), find_matrices(with_matmuls(encoder(names="other/")))
    assert len(found) == 3 * LAYERS
    assert [matrix.digest for matrix in found] == [matrix.digest for matrix in renamed]
    assert not {matrix.weight for matrix in found} & {matrix.weight for matrix in renamed}
    assert set(by_role(by_input(found))) == {f"{WIDTH}x{WIDTH}", f"{WIDTH}x{MIDDLE}", f"{MIDDLE}x{WIDTH}"}


def test_a_gemm_is_a_matrix_and_a_weight_that_two_nodes_read_is_none() -> None:
    model = encoder()
    matmul = next(node for node in model.graph.node if node.op_type == "MatMul")
    again = helper.make_node("MatMul", list(matmul.input), ["again"], name="again")
    gemm = helper.make_node("Gemm", ["sentence_embedding", "square", "vector"], ["answer"], name="gemm", transB=1)
    square = np.random.default_rng(1).normal(size=(3, WIDTH)).astype(np.float32)
    model.graph.initializer.extend(
        [numpy_helper.from_array(square, "square"), numpy_helper.from_array(np.zeros(3, np.float32), "vector")]
    )
    model.graph.node.extend([again, gemm])
    model.graph.output.append(helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["batch_size", 3]))
    found = find_matrices(with_matmuls(model))
    assert matmul.input[1] not in {matrix.weight for matrix in found}
    assert (WIDTH, 3) in {(matrix.rows, matrix.columns) for matrix in found}


def left_out_of(model: onnx.ModelProto) -> list[str]:
    matmuls = with_matmuls(model)
    return left_out(matmuls, {matrix.digest: matrix for matrix in find_matrices(matmuls)})


def test_every_matrix_that_is_none_has_its_reason() -> None:
    model = encoder()
    assert left_out_of(model) == []
    matmul = next(node for node in model.graph.node if node.op_type == "MatMul")
    copied = numpy_helper.to_array(next(each for each in model.graph.initializer if each.name == matmul.input[1]))
    packed = np.zeros((WIDTH, 3 * WIDTH), np.float32)
    model.graph.initializer.extend(
        [
            numpy_helper.from_array(copied, "copy"),
            numpy_helper.from_array(packed, "packed"),
            numpy_helper.from_array(packed[0], "bias"),
        ]
    )
    model.graph.node.extend(
        [
            helper.make_node("MatMul", [matmul.input[0], "copy"], ["again"], name="again"),
            helper.make_node("Attention", ["words", "packed", "bias"], ["attended"], domain="com.microsoft"),
            helper.make_node("Gemm", ["sentence_embedding", "copy"], ["halved"], alpha=0.5),
        ]
    )
    reasons = {line.split()[0]: line for line in left_out_of(model)}
    assert set(reasons) == {matmul.input[1], "copy", "packed"}
    assert "another matrix has the same values" in reasons[matmul.input[1]]
    assert f"packed ({WIDTH}x{3 * WIDTH}) is left out of the search: a fused Attention" in reasons["packed"]


@pytest.mark.parametrize("norm_first", [False, True])
def test_smoothing_changes_no_answer_in_float(norm_first: bool) -> None:
    model = encoder(norm_first=norm_first)
    before, operators_before = outputs(model), operators(model)
    groups = by_input(find_matrices(model))
    magnitudes = channel_magnitudes(model, [group[0].input for group in groups], FEEDS)
    for group in groups:
        weight = numpy_helper.to_array(initializers(model)[group[0].weight])
        scale = smoothing_scale(magnitudes[group[0].input], [weight], 0.7)
        scale_channels(model, group, (1 / scale).astype(np.float32))
    onnx.checker.check_model(model)
    np.testing.assert_allclose(outputs(model), before, rtol=1e-3, atol=1e-4)
    # Normalisations that only matrices read take the scale in; all else needs a Mul.
    folded = 2 * LAYERS if norm_first else 0
    assert operators(model) - operators_before == Counter(Mul=len(groups) - folded)


def test_smoothing_makes_channels_alike() -> None:
    magnitudes = np.array([1, 1, 100, 0], np.float32)
    weight = np.ones((4, 3), np.float32)
    even = magnitudes / smoothing_scale(magnitudes, [weight], 1.0)
    assert even[:3] == pytest.approx([even[0]] * 3)
    untouched = smoothing_scale(magnitudes, [weight], 0.0)
    assert untouched == pytest.approx([1.0] * 4)


def test_outliers_on_the_side_change_no_answer_in_float() -> None:
    model = encoder()
    before = outputs(model)
    for (matrix,) in by_input(find_matrices(model)):
        weight = numpy_helper.to_array(initializers(model)[matrix.weight])
        magnitudes = channel_magnitudes(model, [matrix.input], FEEDS)[matrix.input]
        channels = largest_channels(magnitudes, weight, 2)
        reach = magnitudes * np.abs(weight).max(axis=1)
        assert min(reach[channels]) >= max(np.delete(reach, channels))
        add_side_product(model, matrix, channels)
        inverse = np.ones(matrix.rows, np.float32)
        inverse[channels] = 0
        scale_channels(model, [matrix], inverse)
        assert not numpy_helper.to_array(initializers(model)[matrix.weight])[channels].any()
    onnx.checker.check_model(model)
    np.testing.assert_allclose(outputs(model), before, rtol=1e-3, atol=1e-4)


def test_each_row_of_an_embedding_table_has_a_scale() -> None:
    model = encoder()
    table = numpy_helper.to_array(initializers(model)["table"]).copy()
    table[3] *= 1000
    table[5] = 0
    initializers(model)["table"].CopyFrom(numpy_helper.from_array(table, "table"))
    made = copy.deepcopy(model)
    assert quantize_rows(made) == ["table"]
    onnx.checker.check_model(made)
    for each in (model, made):
        del each.graph.output[:]
        each.graph.output.append(onnx.ValueInfoProto(name="words"))
    every_word = [{"input_ids": np.arange(len(table))[None]}]
    exact, rounded = (answers(open_session(each), every_word)[0]["words"][0] for each in (model, made))
    half_a_step = np.abs(table).max(axis=1, keepdims=True) / 127 / 2
    assert (np.abs(exact - rounded) <= half_a_step * 1.001).all()
    assert not rounded[5].any()


def test_logits_are_compared_by_distance_since_two_opposite_ones_have_no_other_cosine() -> None:
    truth = [{"logits": np.array([[-2.0, 2.0]])}, {"logits": np.array([[1.0, -1.0]])}]
    given = [{"logits": np.array([[-1.0, 1.0]])}, {"logits": np.array([[-0.1, 0.1]])}]
    close = closeness(truth, given)
    assert close.mean == pytest.approx(1 - (2 + 2 * 1.1**2) / 2 / (2 * 5))
    assert close.worst == pytest.approx(1 - 2 * 1.1**2 / (2 * 5))
    assert close.same_label == 0.5
    assert closeness(truth, truth).worst == 1


def test_an_answer_that_is_not_finite_is_far_away() -> None:
    truth = [{"sentence_embedding": np.array([[1.0, 0.0]])}]
    assert closeness(truth, [{"sentence_embedding": np.array([[np.nan, 0.0]])}]).worst == 0


def test_targets_are_read_and_hold_all_of_what_they_ask() -> None:
    target = parse_target("cosine=0.995,worst=0.98", max_mb=26, max_slowdown=1.15)
    assert target == Target(0.995, 0.98, 26, 1.15)
    good = Trial("", mb=26, mean=0.995, worst=0.98, slowdown=1.15)
    assert target.quality_reached(good)
    assert target.within_budget(good)
    assert not target.quality_reached(replace(good, worst=0.979))
    assert not target.quality_reached(replace(good, mean=0.994))
    assert not target.within_budget(replace(good, mb=26.1))
    assert not target.within_budget(replace(good, slowdown=1.16))


@pytest.mark.parametrize("text", ["worst=0.9", "cosine=high", "cosine=1.5", "cosine=nan"])
def test_a_target_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_target(text)


def test_an_unknown_quality_lists_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="cosine, worst"):
        parse_target("accuracy=0.9")
    with pytest.raises(InputError, match="size"):
        parse_target("cosine=0.9", max_mb=0)
