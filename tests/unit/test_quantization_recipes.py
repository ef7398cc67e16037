"""Every method on graphs in miniature: what it makes, how near that is to float32, what it refuses."""

from __future__ import annotations

import importlib.util
import logging

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization.recipes import DTYPE_OF, RECIPES, describe, quantize
from tests.quantizable import Feed, image_classifier, image_feeds, text_encoder, text_feeds

CALIBRATION, EVALUATION = text_feeds(12, seed=1), text_feeds(12, seed=2)

#: Methods that need nothing but ONNX Runtime, and the least mean cosine to float32; measured, less a margin.
FLOORS = {
    "fp16": 0.99999,
    "int8-dynamic": 0.9995,
    "int8-static": 0.998,
    "int8-weights-rtn": 0.9998,
    "int4-weights-rtn": 0.985,
    "int4-weights-rtn-fp16": 0.985,
    "int4-weights-k-quant": 0.985,
    "int4-weights-k-quant-fp16": 0.985,
}
ELSEWHERE = {f"int4-weights-{name}{rest}" for name in ("hqq", "gptq", "awq") for rest in ("", "-fp16")}


def cosine(model: onnx.ModelProto, made: onnx.ModelProto, feeds: list[Feed]) -> float:
    """The mean cosine of the first output."""
    name = model.graph.output[0].name
    pairs = zip(answers(open_session(model), feeds), answers(open_session(made), feeds), strict=True)
    rows = [(left[name].ravel(), right[name].ravel()) for left, right in pairs]
    return float(np.mean([a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in rows]))


def weight_bytes(model: onnx.ModelProto) -> int:
    return sum(tensor.ByteSize() for tensor in model.graph.initializer)


def dtype_of(model: onnx.ModelProto, name: str) -> int | None:
    return next((tensor.data_type for tensor in model.graph.initializer if tensor.name == name), None)


def op_types(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node}


def test_every_method_is_tested_here_or_with_torch() -> None:
    assert FLOORS.keys() | ELSEWHERE == RECIPES.keys()


def test_every_method_has_a_dtype_of_the_manifest() -> None:
    assert set(DTYPE_OF.values()) == SUFFIXES.keys() - {"fp32"}


@pytest.mark.parametrize("method", FLOORS)
def test_a_method_gives_a_smaller_model_that_agrees_and_leaves_the_source_alone(method: str) -> None:
    model = text_encoder()
    before = model.SerializeToString()
    made = quantize(model, method, calibration=CALIBRATION)
    assert model.SerializeToString() == before
    assert cosine(model, made, EVALUATION) >= FLOORS[method]
    assert (
        weight_bytes(made) < weight_bytes(model) * {"fp16": 0.55, "q8": 0.4, "q4": 0.3, "q4f16": 0.3}[DTYPE_OF[method]]
    )
    assert list(made.graph.input) == list(model.graph.input)
    assert [(value.name, value.type.tensor_type.elem_type) for value in made.graph.output] == [
        ("sentence_embedding", TensorProto.FLOAT)
    ]


@pytest.mark.parametrize("method", FLOORS)
def test_the_same_inputs_give_the_same_bytes(method: str) -> None:
    made = [quantize(text_encoder(), method, calibration=CALIBRATION).SerializeToString() for _ in range(2)]
    assert made[0] == made[1]


@pytest.mark.parametrize("method", FLOORS)
def test_a_batch_with_padding_gives_what_each_text_alone_gives(method: str) -> None:
    made = quantize(text_encoder(), method, calibration=CALIBRATION)
    [short, long] = sorted(EVALUATION[:2], key=lambda feed: feed["input_ids"].size)
    padding = ((0, 0), (0, long["input_ids"].size - short["input_ids"].size))
    batch = {name: np.concatenate([np.pad(short[name], padding), long[name]]) for name in short}
    together = answers(open_session(made), [batch])[0]["sentence_embedding"]
    alone = np.concatenate([each["sentence_embedding"] for each in answers(open_session(made), [short, long])])
    for left, right in zip(together, alone, strict=True):  # dynamic int8 scales activations by all that is in the batch
        assert left @ right / (np.linalg.norm(left) * np.linalg.norm(right)) >= 0.999


@pytest.mark.parametrize("method", ["fp16", "int8-dynamic", "int8-static"])
def test_images_are_quantized_too(method: str) -> None:
    model = image_classifier()
    made = quantize(model, method, calibration=image_feeds(12, seed=1))
    assert cosine(model, made, image_feeds(12, seed=2)) >= 0.998
    assert dtype_of(made, "kernel2") != TensorProto.FLOAT


@pytest.mark.parametrize("method", FLOORS)
def test_nodes_to_keep_stay_float32(method: str) -> None:
    kept = {"/lowered": "down", "/words": "table", "/sentence_embedding": "out"}
    made = quantize(text_encoder(), method, calibration=CALIBRATION, keep=list(kept))
    assert {name: dtype_of(made, name) for name in kept.values()} == dict.fromkeys(kept.values(), TensorProto.FLOAT)
    assert dtype_of(made, "up") != TensorProto.FLOAT


def test_nodes_without_a_name_are_kept_by_the_name_they_are_given() -> None:
    model = text_encoder()
    for node in model.graph.node:
        node.name = ""
    made = quantize(model, "int4-weights-rtn", keep=["MatMul:lowered"])
    assert dtype_of(made, "down") == TensorProto.FLOAT
    assert dtype_of(made, "up") is None


def test_dynamic_int8_has_a_scale_for_each_channel_unless_told_otherwise() -> None:
    sizes = {}
    for per_channel in (True, False):
        made = quantize(text_encoder(), "int8-dynamic", per_channel=per_channel)
        sizes[per_channel] = next(t.dims for t in made.graph.initializer if t.name == "up_scale")
        assert "MatMulInteger" in op_types(made)
    assert (list(sizes[True]), list(sizes[False])) == ([128], [])


def test_static_int8_ranges_are_found_from_texts_of_different_lengths() -> None:
    model = text_encoder()
    for ranges in ("minmax", "entropy", "percentile"):
        made = quantize(model, "int8-static", calibration=CALIBRATION, ranges=ranges)
        assert {"QuantizeLinear", "DequantizeLinear"} <= op_types(made)
        assert cosine(model, made, EVALUATION) >= 0.99, ranges


@pytest.mark.parametrize(("embeddings", "op_type"), [("int8", "DequantizeLinear"), ("int4", "GatherBlockQuantized")])
def test_embeddings_are_quantized_beside_the_matrices(embeddings: str, op_type: str) -> None:
    made = quantize(text_encoder(), "int4-weights-rtn", embeddings=embeddings)
    assert {"MatMulNBits", op_type} <= op_types(made)
    assert dtype_of(made, "table") is None
    left = quantize(text_encoder(), "int4-weights-rtn", embeddings="float32")
    assert dtype_of(left, "table") == TensorProto.FLOAT


def test_bits_and_blocks_are_what_was_asked_for() -> None:
    for method, bits in (("int8-weights-rtn", 8), ("int4-weights-rtn", 4), ("int4-weights-k-quant", 4)):
        made = quantize(text_encoder(), method, block_size=16, accuracy_level=4)
        [node] = [node for node in made.graph.node if node.output[0] == "lowered"]
        values = {attribute.name: attribute.i for attribute in node.attribute}
        assert values == {"K": 128, "N": 64, "bits": bits, "block_size": 16, "accuracy_level": 4}


def test_calibration_with_one_text_or_none_is_refused() -> None:
    for feeds, said in (([], "there are none"), (CALIBRATION[:1], "there is one")):
        with pytest.raises(InputError, match=said):
            quantize(text_encoder(), "int8-static", calibration=feeds)


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("int3", {}, "Unknown quantization method 'int3'. Known: fp16, int4-weights-awq"),
        ("fp16", {"bits": 4}, "Unknown option of fp16 'bits'. Known: keep_op_types."),
        ("int8-dynamic", {"keep": ["/nowhere"]}, "Unknown node to keep '/nowhere'"),
        (
            "int4-weights-rtn",
            {"embeddings": "int2"},
            "Unknown precision of embeddings 'int2'. Known: float32, int4, int8.",
        ),
        ("int4-weights-rtn", {"activations": "int8"}, "Unknown type of activations 'int8'"),
        ("int8-static", {"ranges": "best"}, "Unknown way to find ranges 'best'. Known: entropy, minmax, percentile."),
        ("int8-static", {"activation_type": "int4"}, "Unknown activation type 'int4'"),
    ],
)
def test_a_name_that_does_not_exist_is_told_with_those_that_do(
    method: str, options: dict[str, object], said: str
) -> None:
    with pytest.raises(UnknownNameError) as caught:
        quantize(text_encoder(), method, calibration=CALIBRATION, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("method", "package", "line"),
    [
        ("int4-weights-hqq", "torch", "pip install torch"),
        ("int4-weights-gptq", "torch", "pip install torch"),
        ("int4-weights-awq", "onnx_neural_compressor", "pip install --no-deps onnx-neural-compressor"),
    ],
)
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    method: str, package: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=line) as caught:
        quantize(text_encoder(), method, calibration=CALIBRATION)
    assert caught.value.details == {"package": package}


def test_nothing_is_printed_and_the_root_logger_stays_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), list(root.filters))
    quantize(text_encoder(), "int8-static", calibration=CALIBRATION, ranges="entropy")
    quantize(text_encoder(), "int4-weights-k-quant")
    assert (root.level, list(root.handlers), list(root.filters)) == before
    assert capfd.readouterr() == ("", "")


def test_a_recipe_is_described_by_what_differs_from_its_defaults() -> None:
    assert describe("fp16") == "fp16 (16-bit floats)"
    assert describe("int4-weights-rtn", {"block_size": 64, "symmetric": False}, ["/a", "/b"]) == (
        "int4-weights-rtn (4-bit weights, round to nearest): block_size=64, 2 nodes kept in float32"
    )
    with pytest.raises(UnknownNameError):
        describe("int4-weights-rtn", {"size": 64})
