"""Graph files that are not whole: each is refused by name, with what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.packing.files import save
from edgeinfer_browser.packing.graph_file import all_tensors, load_graph
from edgeinfer_browser.packing.operators import check_operators

#: 128 x 128 float32: 64 KiB, as a matrix that is never all zeros.
SIDE = 128


def product(weights: npt.NDArray[Any] | None = None) -> onnx.ModelProto:
    """x [n, SIDE] -> y = x @ w."""
    values = np.random.default_rng(0).normal(size=(SIDE, SIDE)) if weights is None else weights
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", SIDE]) for name in "xy")
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
    tensor = numpy_helper.from_array(values.astype(np.float32), "w")
    graph = helper.make_graph([node], "product", [x], [y], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    save(product(), path)
    return path


def test_a_whole_file_is_read_with_its_weights(saved: Path) -> None:
    model = load_graph(saved)
    (weights,) = all_tensors(model.graph)
    assert np.array_equal(numpy_helper.to_array(weights), numpy_helper.to_array(product().graph.initializer[0]))
    assert not weights.external_data


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"There is no .*absent\.onnx"):
        load_graph(tmp_path / "absent.onnx")


def test_a_graph_without_operators(tmp_path: Path) -> None:
    model = product()
    del model.graph.node[:]
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(GraphError, match="has no graph: there is not one operator"):
        load_graph(tmp_path / "model.onnx")


def test_missing_external_data_is_named(saved: Path) -> None:
    saved.with_suffix(".onnx_data").unlink()
    with pytest.raises(GraphError, match=r"weights in 'model\.onnx_data', and .*model\.onnx_data is not there"):
        load_graph(saved)


def test_truncated_external_data_says_expected_and_actual_bytes(saved: Path) -> None:
    data = saved.with_suffix(".onnx_data")
    data.write_bytes(data.read_bytes()[:-100])
    with pytest.raises(GraphError, match=f"need {4 * SIDE * SIDE} bytes, and it has {4 * SIDE * SIDE - 100}") as caught:
        load_graph(saved)
    assert (caught.value.details["expected"], caught.value.details["actual"]) == (4 * SIDE**2, 4 * SIDE**2 - 100)


def test_a_zero_filled_weight_file(saved: Path) -> None:
    data = saved.with_suffix(".onnx_data")
    data.write_bytes(bytes(data.stat().st_size))
    with pytest.raises(GraphError, match=r"model\.onnx_data is filled with zeros"):
        load_graph(saved)


def test_a_matrix_of_zeros_inside_the_file_is_named(tmp_path: Path) -> None:
    onnx.save(product(np.zeros((SIDE, SIDE))), tmp_path / "model.onnx")
    with pytest.raises(GraphError, match=r"the weight 'w' of dims .* is all zeros"):
        load_graph(tmp_path / "model.onnx")


def test_a_small_table_of_zeros_is_allowed(tmp_path: Path) -> None:
    model = product()
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((1, 768), np.float32), "types"))
    onnx.save(model, tmp_path / "model.onnx")
    assert len(list(all_tensors(load_graph(tmp_path / "model.onnx").graph))) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"is empty \(0 bytes\)"),
        (bytes(5000), r"is filled with zeros \(5000 bytes\)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "is a Git-LFS pointer.*git lfs pull"),
        (b"<!doctype html><title>404</title>", "is no whole ONNX file"),
    ],
)
def test_what_is_no_graph_at_all(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(GraphError, match=message):
        load_graph(path)


def test_a_truncated_graph_file_says_how_many_bytes_it_has(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(product().SerializeToString()[:-1000])
    with pytest.raises(GraphError, match=f"{path.stat().st_size} bytes.*truncated"):
        load_graph(path)


def test_a_pointer_in_the_place_of_weights(saved: Path) -> None:
    saved.with_suffix(".onnx_data").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(GraphError, match=r"model\.onnx_data is a Git-LFS pointer"):
        load_graph(saved)


def test_a_weight_with_other_bytes_than_its_dims(tmp_path: Path) -> None:
    model = product()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-8]
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(GraphError, match=f"'w' of dims .* needs {4 * SIDE**2} bytes, and has {4 * SIDE**2 - 8}"):
        load_graph(tmp_path / "model.onnx")


def test_weights_outside_the_folder_are_refused(saved: Path) -> None:
    model = onnx.load(str(saved), load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "../secret"
    saved.write_bytes(model.SerializeToString())
    with pytest.raises(GraphError, match="outside its folder"):
        load_graph(saved)


def test_links_into_a_cache_are_followed(saved: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshots/main/onnx"
    snapshot.mkdir(parents=True)
    for path in (saved, saved.with_suffix(".onnx_data")):
        (snapshot / path.name).symlink_to(path)
    assert load_graph(snapshot / "model.onnx") == load_graph(saved)


def with_operator(kind: str, domain: str = "", opset: int = 17) -> onnx.ModelProto:
    model = product()
    model.graph.node.append(helper.make_node(kind, ["y"], ["z"], name="odd", domain=domain))
    del model.opset_import[:]
    model.opset_import.extend([helper.make_opsetid("", opset)])
    if domain:
        model.opset_import.extend([helper.make_opsetid(domain, 1)])
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (with_operator("FancyNorm"), r"FancyNorm \(domain ai\.onnx, opset 17\): 1 node, the first is 'odd'"),
        (with_operator("Swish", "com.example"), r"Swish \(domain com\.example, opset 1\)"),
        (with_operator("Gelu"), r"Gelu \(domain ai\.onnx, there from opset 20 on, the graph imports 17\)"),
    ],
)
def test_unknown_operators_are_named_with_domain_and_opset(model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        check_operators(model, "tiny.onnx")
    assert caught.value.details["operators"] == [model.graph.node[-1].op_type]


def test_an_operator_of_a_domain_that_is_not_imported() -> None:
    model = with_operator("Gelu", "com.microsoft")
    del model.opset_import[1:]
    with pytest.raises(GraphError, match=r"com\.microsoft, which the graph does not import"):
        check_operators(model, "tiny.onnx")


@pytest.mark.parametrize("model", [product(), with_operator("Gelu", "com.microsoft"), with_operator("Gelu", opset=20)])
def test_known_operators_pass(model: onnx.ModelProto) -> None:
    check_operators(model, "tiny.onnx")
