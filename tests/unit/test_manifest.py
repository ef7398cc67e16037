"""A packed folder's manifest: read whole, or refused with its URL."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinfer_browser.errors import ManifestError, UnknownNameError
from edgeinfer_browser.manifest import HeadSpec, ModelManifest, revision_of, tensor_to_json
from edgeinfer_browser.tensors import Tensor
from tests.unit.fakes import manifest_json
from tests.unit.manifest_changes import MANIFEST, URL, places, read, sealed


def test_a_packed_manifest_is_read_whole() -> None:
    source = manifest_json(["fp32", "fp16"])
    manifest = read(source)
    assert manifest.packed
    assert manifest.revision == source["revision"] == revision_of(source)
    assert manifest.labels == ("negative", "positive")
    assert manifest.inputs == ("input_ids", "attention_mask")
    assert list(manifest.variants) == ["fp32", "fp16"]
    assert manifest.variant("fp16").features == ("shader-f16",)
    assert manifest.variant("fp32").bytes == len(b"fp32")
    assert manifest.files["tokenizer.json"].sha256 == source["files"]["tokenizer.json"]["sha256"]
    assert list(manifest.golden_inputs[0]["input_ids"].values()) == [2, 4, 3]
    assert list(manifest.variant("fp32").golden_outputs[0]["logits"].values()) == [0.0, 1.0]


def test_what_may_be_left_out_is_empty() -> None:
    manifest = read(manifest_json(["fp32"]))
    assert (manifest.outputs, manifest.heads, manifest.attribution) == ((), (), ())
    assert (manifest.advice, manifest.calibration, manifest.preprocessing) == (None, None, None)
    assert (manifest.parameters, manifest.license, manifest.golden_texts) == (0, "", (None,))
    variant = manifest.variant("fp32")
    assert (variant.method, variant.agreement, variant.warnings) == ("", {}, ())


def test_a_shared_encoder_with_heads_is_read_whole() -> None:
    manifest = read(MANIFEST)
    assert manifest.outputs == ("sentence_embedding", "sentiment_logits")
    assert manifest.heads == (
        HeadSpec(
            "sentiment",
            "sentiment_logits",
            ("negative", "positive"),
            "single_label_classification",
            {"cross_validated": 0.85, "spread": 0.01, "majority": 0.55, "folds": 5, "texts": 18009},
        ),
    )
    assert manifest.head("sentiment") is manifest.heads[0]
    with pytest.raises(UnknownNameError, match=r"'topic'\. Known: sentiment"):
        manifest.head("topic")
    assert manifest.parameters == 22713216
    assert manifest.calibration is not None
    assert manifest.calibration.texts == len(manifest.calibration.digests) == 2
    assert manifest.golden_texts == ("good",)
    assert manifest.advice == MANIFEST["advice"]
    assert manifest.preprocessing == {"pixels": "uint8"}
    assert (manifest.license, manifest.attribution) == ("Apache-2.0", tuple(MANIFEST["attribution"]))
    q8 = manifest.variant("q8")
    assert q8.method == "int8-dynamic, per channel"
    assert q8.agreement["worst_cosine"] == 0.985
    assert q8.warnings == ("larger than 25 MiB",)
    assert [file.path for file in q8.files] == ["onnx/model_quantized.onnx", "onnx/model_quantized.onnx_data"]


def test_whole_numbers_with_a_point_are_read_as_integers() -> None:
    source = copy.deepcopy(MANIFEST)
    source["max_length"] = 256.0
    source["variants"]["q8"]["files"][0]["bytes"] = 118624.0
    source["golden"][0]["inputs"]["input_ids"]["dims"] = [1.0, 3.0]
    manifest = read(sealed(source))
    assert type(manifest.max_length) is type(manifest.variant("q8").files[0].bytes) is int
    assert manifest.golden_inputs[0]["input_ids"].dims == (1, 3)


def test_the_bytes_of_a_variant_are_those_of_all_its_files() -> None:
    source = manifest_json(["fp32"])
    source["variants"]["fp32"]["files"].append({"path": "onnx/model.onnx_data", "bytes": 50, "sha256": "0" * 64})
    assert read(sealed(source)).variant("fp32").bytes == 54


def test_a_dtype_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownNameError, match="fp32, q8"):
        read(manifest_json(["q8", "fp32"])).variant("fp16")


def test_an_unknown_dtype_in_a_manifest_is_refused_with_the_known_ones() -> None:
    source = manifest_json(["fp32"])
    source["variants"]["int3"] = source["variants"].pop("fp32")
    with pytest.raises(ManifestError, match="q4f16"):
        read(source)


@pytest.mark.parametrize("number", [0, 2, "1", None, True])
def test_another_format_is_refused_and_says_to_pack_again(number: object) -> None:
    with pytest.raises(ManifestError, match="Pack the model again") as caught:
        read({**manifest_json(), "format": number})
    assert caught.value.details["url"] == URL


@pytest.mark.parametrize(
    "text",
    [b"", b"<!doctype html>", b"{", b"\xff\xfe", b"[]", b"null", b'"text"', b"[" * 200_000, b'{"a":NaN}'],
    ids=["empty", "html", "cut", "no utf-8", "list", "null", "string", "deep", "nan"],
)
def test_what_is_no_json_object_is_refused_with_its_url(text: bytes) -> None:
    with pytest.raises(ManifestError, match=URL):
        ModelManifest.from_json(text, URL)
    with pytest.raises(ManifestError, match=URL):
        ModelManifest.from_hugging_face(text, "tiny", URL, "text-classification")
    with pytest.raises(ManifestError, match=r"models/encoder/tokenizer_config\.json"):
        ModelManifest.from_hugging_face("{}", "tiny", URL, "text-classification", text)


def test_a_golden_sample_that_is_nested_too_deep_is_refused() -> None:
    text = json.dumps({**MANIFEST, "advice": "HERE"}).replace('"HERE"', '{"a":' * 5000 + "1" + "}" * 5000)
    with pytest.raises(ManifestError, match=URL):
        ModelManifest.from_json(text, URL)


@given(st.data())
def test_the_revision_changes_with_any_value(data: st.DataObject) -> None:
    source = manifest_json(["fp32", "q8"])
    path = data.draw(st.sampled_from([path for path in places(source) if path != ("revision",)]))
    other = copy.deepcopy(source)
    place: Any = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = "another" if place[path[-1]] != "another" else "one"
    assert revision_of(other) != revision_of(source)


def test_the_revision_does_not_depend_on_key_order_or_on_itself() -> None:
    source = manifest_json()
    turned = dict(reversed(source.items()))
    assert revision_of(turned) == revision_of({**source, "revision": "x"}) == source["revision"]


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16", "bool"])
def test_a_tensor_is_stored_and_read_back(dtype: str) -> None:
    tensor = Tensor.from_values(dtype, [1, 2], [0, 1])
    stored = json.loads(json.dumps(tensor_to_json(tensor)))
    manifest = read(manifest_json(["fp32"], inputs=[{"name": "x"}], golden=[{"inputs": {"x": stored}}]))
    assert manifest.golden_inputs[0]["x"].data == tensor.data
