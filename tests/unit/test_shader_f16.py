"""Which files need WebGPU's shader-f16: those that compute in 16 bits, not those that only store weights so."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from edgeinfer_browser.capabilities import Capabilities
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.packing.written import write_variant
from edgeinfer_browser.policy import Policy, choose
from tests.unit import fakes

STORED = "<float16[2,2] w = {1, 2, 3, 4}>"


def features_of(folder: Path, body: str) -> tuple[str, ...]:
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["": 19]> g (float[n,2] x) => (float[n,2] y) {body}')
    onnx.checker.check_model(model)
    return write_variant(folder, "q8", model, "by hand").features


def test_weights_that_are_cast_to_float32_while_loading_need_no_feature(tmp_path: Path) -> None:
    assert features_of(tmp_path, f"{STORED} {{ wide = Cast <to = 1> (w) y = MatMul (x, wide) }}") == ()
    constant = "{ w = Constant <value = float16[2,2] {1, 2, 3, 4}> () wide = Cast <to = 1> (w) y = MatMul (x, wide) }"
    assert features_of(tmp_path, constant) == ()


@pytest.mark.parametrize(
    "body",
    [
        f"{STORED} {{ h = Cast <to = 10> (x) z = MatMul (h, w) y = Cast <to = 1> (z) }}",
        f"{STORED} {{ z = Neg (w) wide = Cast <to = 1> (z) y = MatMul (x, wide) }}",
        "{ h = Cast <to = 10> (x) z = Exp (h) y = Cast <to = 1> (z) }",
        "{ w = Constant <value = float16[2,2] {1, 2, 3, 4}> () z = Neg (w) v = Cast <to = 1> (z) y = MatMul (x, v) }",
    ],
    ids=["activations", "weights", "cast", "constant"],
)
def test_what_computes_in_16_bits_needs_it(tmp_path: Path, body: str) -> None:
    assert features_of(tmp_path, body) == ("shader-f16",)


def test_only_webgpu_refuses_a_file_for_a_feature_it_lacks() -> None:
    q8 = fakes.variant("q8", features=("shader-f16",))
    manifest = ModelManifest("m", "text-classification", "", (), "", 256, (), {"q8": q8})
    page = Capabilities(host="page", webgpu=True, webassembly=True, wasm_simd=True, workers=True)
    choice = choose(page, manifest, Policy.of(), api=False)
    assert [(each.tier, each.dtype) for each in choice.candidates] == [("wasm", "q8")]
    assert any(each.tier == "webgpu" and "shader-f16" in each.reason for each in choice.refusals)
