"""Advice: which file for which tier, what is warned about, and that a page's own choice is the same."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.manifest import ModelFile, ModelManifest, Variant
from edgeinfer_browser.packing.advice import Facts, advise, describe
from edgeinfer_browser.packing.graph_facts import facts_of
from edgeinfer_browser.packing.int64_nodes import int64_nodes
from edgeinfer_browser.policy import Policy, choose

MEGABYTE = 1_000_000
SIZES = {"fp32": 90, "fp16": 45, "q8": 23, "q4": 52, "q4f16": 30}


def manifest_of(*dtypes: str, parameters: int = 22_700_000, output: str = "logits", **changes: Any) -> dict[str, Any]:
    """edgeinfer.json of a model with these variants; ``changes``: dtype -> what differs in its entry."""
    variants = {
        dtype: {
            "files": [
                {"path": f"{dtype}.onnx", "bytes": 60_000, "sha256": ""},
                {"path": f"{dtype}.onnx_data", "bytes": SIZES[dtype] * MEGABYTE, "sha256": ""},
            ],
            "features": ["shader-f16"] if "f16" in dtype or dtype == "fp16" else [],
            "largest_tensor": 46_881_792,
            "agreement": {"max_abs_difference": 0.01},
        }
        for dtype in dtypes
    }
    for dtype, change in changes.items():
        variants[dtype] |= change
    return {"variants": variants, "parameters": parameters, "outputs": [{"name": output}]}


def read(source: dict[str, Any]) -> ModelManifest:
    variants = {
        dtype: Variant(
            dtype,
            tuple(ModelFile(file["path"], file["bytes"]) for file in entry["files"]),
            entry["largest_tensor"],
            tuple(entry["features"]),
        )
        for dtype, entry in source["variants"].items()
    }
    return ModelManifest("m", "text-classification", "", (), "", 256, (), variants, advice=advise(source))


def measured(**agreement: Any) -> dict[str, Any]:
    return {"agreement": {"max_abs_difference": 0.1, "texts": 200, **agreement}}


def advised(advice: dict[str, Any], tier: str, features: set[str]) -> str | None:
    """What the advice names for a device with these WebGPU features."""
    fitting = [each for each in advice["files"] if each["tier"] == tier and set(each["needs"]) <= features]
    return fitting[0]["dtype"] if fitting else None


VARIANTS = [
    ("fp32", "fp16", "q8"),
    ("fp32", "q8"),
    ("fp32", "fp16", "q8", "q4", "q4f16"),
    ("fp32", "q4"),
    ("q8",),
    ("q4", "q4f16"),
]


@pytest.mark.parametrize("features", [set(), {"shader-f16"}], ids=["no-f16", "f16"])
@pytest.mark.parametrize("dtypes", VARIANTS, ids=" ".join)
def test_the_advice_is_what_a_page_chooses_by_itself(dtypes: tuple[str, ...], features: set[str]) -> None:
    source = manifest_of(*dtypes)
    device = Capabilities(
        host="page", webgpu=True, features=frozenset(features), webassembly=True, wasm_simd=True, workers=True
    )
    choice = choose(device, read(source), Policy.of(), api=False)
    chosen = {candidate.tier: candidate.dtype for candidate in choice.candidates}
    assert set(chosen) == {"webgpu", "wasm"}
    advice = advise(source)
    assert {tier: advised(advice, tier, features) for tier in chosen} == chosen


@pytest.mark.parametrize("dtypes", VARIANTS, ids=" ".join)
def test_the_advice_is_what_a_server_chooses_by_itself(dtypes: tuple[str, ...]) -> None:
    source = manifest_of(*dtypes)
    (candidate,) = choose(Capabilities(host="cpython"), read(source), Policy.of(), api=False).candidates
    assert (candidate.tier, candidate.dtype) == ("native", advised(advise(source), "native", set()))


@pytest.mark.parametrize("poor", [("q8",), ("fp16",), ("q4", "q4f16"), ("fp16", "q8", "q4f16")], ids=" ".join)
@pytest.mark.parametrize("features", [set(), {"shader-f16"}], ids=["no-f16", "f16"])
def test_what_is_not_advised_is_not_what_a_page_or_a_server_chooses(poor: tuple[str, ...], features: set[str]) -> None:
    source = manifest_of(*SIZES)
    for dtype in poor:
        source["variants"][dtype] |= measured(same_label=0.5)
    page = Capabilities(
        host="page", webgpu=True, features=frozenset(features), webassembly=True, wasm_simd=True, workers=True
    )
    devices = (page, Capabilities(host="cpython"))
    candidates = [
        each for device in devices for each in choose(device, read(source), Policy.of(), api=False).candidates
    ]
    assert {each.tier for each in candidates} == {"webgpu", "wasm", "native"}
    for each in candidates:
        assert each.dtype == advised(advise(source), each.tier, features)
        assert each.dtype not in poor


def test_webgpu_without_fp16_gets_fp32_before_weights_only_and_never_int8() -> None:
    advice = advise(manifest_of("fp32", "fp16", "q8", "q4"))
    assert [each["dtype"] for each in advice["files"] if each["tier"] == "webgpu"] == ["fp16", "fp32"]
    advice = advise(manifest_of("fp16", "q8", "q4"))
    assert [each["dtype"] for each in advice["files"] if each["tier"] == "webgpu"] == ["fp16", "q4"]


def test_int8_below_the_line_is_not_advised_and_says_so() -> None:
    source = manifest_of("fp32", "q8", output="sentence_embedding", q8=measured(worst_cosine=0.9449, mean_cosine=0.96))
    advice = advise(source)
    assert advised(advice, "wasm", set()) == "fp32"
    assert {(each["tier"], each["dtype"]) for each in advice["not_advised"]} == {
        (tier, "q8") for tier in ("webgpu", "wasm", "native")
    }
    assert "0.9449" in advice["not_advised"][0]["why"]
    assert any("q8 is not advised" in warning["what"] for warning in advice["warnings"])


def test_a_classifier_is_judged_by_its_labels_not_by_the_cosine_of_two_logits() -> None:
    near_tie = measured(worst_cosine=-1.0, mean_cosine=0.98, same_label=0.985)
    assert advised(advise(manifest_of("fp32", "q8", q8=near_tie)), "wasm", set()) == "q8"
    flips = measured(worst_cosine=-1.0, mean_cosine=0.7, same_label=0.85)
    advice = advise(manifest_of("fp32", "q8", q8=flips))
    assert advised(advice, "wasm", set()) == "fp32"
    assert "85.0%" in advice["not_advised"][0]["why"]


def test_the_common_file_is_the_most_faithful_that_every_device_runs() -> None:
    assert advise(manifest_of("fp32", "fp16", "q8"))["common"]["dtype"] == "fp32"
    q8, q4 = measured(same_label=0.99), measured(same_label=0.97)
    assert advise(manifest_of("fp16", "q8", "q4", q8=q8, q4=q4))["common"]["dtype"] == "q8"
    assert advise(manifest_of("fp16"))["common"] is None


def test_a_common_file_too_large_for_a_first_visit_gives_way() -> None:
    large = {"files": [{"path": "m.onnx", "bytes": 400 * MEGABYTE, "sha256": ""}]}
    source = manifest_of("fp32", "q8", fp32=large, q8=measured(same_label=0.99))
    assert advise(source)["common"]["dtype"] == "q8"


def only(what: str, advice: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str]
    (found,) = [warning for warning in advice["warnings"] if what in warning["what"]]
    assert found["why"]
    assert found["do"]
    return found


def test_a_first_visit_ends_at_150_megabytes() -> None:
    def of(size: int) -> dict[str, Any]:
        return advise(manifest_of("q8", q8={"files": [{"path": "q8.onnx", "bytes": size, "sha256": ""}]}))

    assert "q8 (150.0 MB)" in only("first visit", of(150_000_001))["what"]
    assert not any("first visit" in warning["what"] for warning in of(150_000_000)["warnings"])


def test_a_file_over_25_mebibytes_names_the_option_that_splits_it() -> None:
    def of(size: int) -> dict[str, Any]:
        return advise(manifest_of("q8", q8={"files": [{"path": "onnx/m.onnx", "bytes": size, "sha256": ""}]}))

    warning = only("25 MiB", of(25 * 2**20 + 1))
    assert "onnx/m.onnx" in warning["what"]
    assert "--split-mb" in warning["do"]
    assert not any("25 MiB" in each["what"] for each in of(25 * 2**20)["warnings"])


def test_weights_inside_the_onnx_file_count_more_than_once_against_wasm_memory() -> None:
    two = 2 * 2**30
    inline = {"files": [{"path": "m.onnx", "bytes": two, "sha256": ""}]}
    external = {"files": [{"path": "m.onnx", "bytes": 1, "sha256": ""}, {"path": "d", "bytes": two, "sha256": ""}]}
    advice = advise(manifest_of("q8", "fp32", q8=inline, fp32=external))
    assert "5.2 GiB" in only("WASM memory", advice)["what"]
    assert advised(advice, "wasm", set()) == "fp32"


def test_a_tensor_beyond_what_webgpu_must_bind_is_warned_about() -> None:
    advice = advise(manifest_of("fp32", fp32={"largest_tensor": 400 * 2**20}))
    assert "400 MiB" in only("tensor", advice)["what"]


def test_overflow_and_int64_facts_become_warnings() -> None:
    facts = Facts(int64_nodes={"fp32": {"CumSum": 2, "Where": 1}}, not_finite={"fp16": 3})
    advice = advise(manifest_of("fp32", "fp16"), facts)
    assert "3 nodes" in only("block the GPU", advice)["what"]
    assert "2 CumSum, 1 Where" in only("block the GPU", advice)["what"]
    assert "65,504" in only("NaN or infinity", advice)["why"]
    assert advised(advice, "webgpu", {"shader-f16"}) == "fp32"


@pytest.mark.parametrize(
    ("parameters", "advised_precision"),
    [(499_999_999, "int8"), (500_000_000, "int4"), (7_000_000_000, "int4"), (7_000_000_001, "api")],
)
def test_precision_follows_the_number_of_parameters(parameters: int, advised_precision: str) -> None:
    advice = advise(manifest_of("fp32", "q8", "q4", parameters=parameters))
    assert advice["precision"]["advised"] == advised_precision


def test_three_to_seven_billion_parameters_are_warned_about() -> None:
    assert "heavy" in only("3.5 billion", advise(manifest_of("q4", parameters=3_500_000_000)))["what"]
    assert not any("heavy" in each["what"] for each in advise(manifest_of("q4", parameters=10**9))["warnings"])
    assert "API" in only("8.0 billion", advise(manifest_of("q4", parameters=8_000_000_000)))["do"]


def test_no_parameters_no_precision() -> None:
    source = manifest_of("fp32")
    del source["parameters"]
    assert advise(source)["precision"] is None


def test_quality_that_nobody_measured_is_said() -> None:
    only("not measured", advise(manifest_of("fp32", "q8")))
    quiet = advise(manifest_of("fp32", "q8", q8=measured(same_label=0.99)))
    assert not any("not measured" in each["what"] for each in quiet["warnings"])


def test_every_line_of_the_description_names_what_it_is_about() -> None:
    lines = list(describe(advise(manifest_of("fp32", "fp16", "q8"))))
    assert any(line.startswith("webgpu  fp16 (needs shader-f16): ") for line in lines)
    assert any(line.startswith("wasm    q8: ") for line in lines)
    assert any(line.startswith("same everywhere: fp32") for line in lines)
    assert not any(".." in line for line in lines)


def test_a_refusal_for_one_reason_is_one_line_for_all_tiers() -> None:
    strays = measured(same_label=0.5)
    lines = list(describe(advise(manifest_of("fp32", "q8", q8=strays))))
    assert sum(line.startswith("not q8 on webgpu, wasm, native: ") for line in lines) == 1
    assert sum(line.startswith("not ") for line in lines) == 1


def test_facts_come_from_the_graphs_and_from_the_golden_answers(tmp_path: Path) -> None:
    body = "g (float[b,n] x) => (int64[b] y) <int64[1] one = {1}> { i = ArgMax<axis=1, keepdims=0>(x) y = Add(i, one) }"
    onnx.save(parser.parse_model('<ir_version: 9, opset_import: ["" : 19]>\n' + body), tmp_path / "fp16.onnx")
    golden = [{"logits": {"data": [1.0, math.inf]}}, {"logits": {"data": [1.0, 2.0]}}]
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    facts = facts_of(tmp_path, manifest_of("fp16", fp16={"golden": golden}))
    assert facts == Facts({"fp16": {"Add": 1}}, {"fp16": 1}, {"model_type": "bert"})


def test_a_configuration_that_transformers_js_refuses_is_warned_about() -> None:
    advice = advise(manifest_of("fp32"), Facts(config={"architectures": ["MPNetModel"]}))
    assert "the family of MPNetModel" in only("no model_type", advice)["do"]
    for facts in (Facts(), Facts(config={"model_type": "mpnet"})):
        assert not any("model_type" in each["what"] for each in advise(manifest_of("fp32"), facts)["warnings"])


def graph_of(body: str) -> onnx.GraphProto:
    header = '<ir_version: 9, opset_import: ["" : 19]>\n'
    return parser.parse_model(header + body).graph


def test_int64_on_shapes_and_on_the_graphs_own_inputs_does_not_block_the_gpu() -> None:
    graph = graph_of("""g (int64[b,n] ids, float[b,n] x) => (float[b,n] y) <int64[1] one = {1}> {
      mask = Mul(ids, one)
      seen = Cast<to=1>(mask)
      shape = Shape(x)
      wide = Mul(shape, one)
      same = Reshape(x, wide)
      y = Add(same, seen)
    }""")
    assert int64_nodes(graph) == {}


def test_int64_that_comes_from_floats_blocks_the_gpu_until_it_is_float_again() -> None:
    graph = graph_of("""g (float[b,n] x, float[v,n] table) => (float[b,n] y) <int64[1] one = {1}> {
      best = ArgMax<axis=1, keepdims=0>(x)
      next = Add(best, one)
      rows = Gather(table, next)
      back = Cast<to=1>(next)
      side = Unsqueeze(back, one)
      y = Add(rows, side)
    }""")
    assert int64_nodes(graph) == {"Add": 1, "Cast": 1}
