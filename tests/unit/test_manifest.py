"""A model folder's manifest: read whole, or refused with its URL."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinfer_browser.errors import ManifestError, UnknownNameError
from edgeinfer_browser.manifest import SUFFIXES, ModelManifest, length_limit, revision_of, tensor_to_json
from edgeinfer_browser.tensors import Tensor
from tests.unit.fakes import manifest_json

URL = "https://host.test/models/tiny/edgeinfer.json"
CONFIG_URL = "https://host.test/models/tiny/config.json"


def read(source: object) -> ModelManifest:
    return ModelManifest.from_json(json.dumps(source), URL)


def read_plain(config: object) -> ModelManifest:
    return ModelManifest.from_hugging_face(json.dumps(config), "tiny", CONFIG_URL, "text-classification")


@pytest.mark.parametrize(
    ("positions", "stated", "limit"),
    [(512, None, 512), (512, 256, 256), (514, 512, 512), (512, 1e30, 512), (None, 10**30, 512), (128, 4096, 128)],
)
def test_the_length_limit_is_the_tokenizer_s_and_never_above_the_positions(
    positions: int | None, stated: float | None, limit: int
) -> None:
    config, tokenizer_config = {"max_position_embeddings": positions}, {"model_max_length": stated}
    assert length_limit(config, tokenizer_config) == limit
    plain = ModelManifest.from_hugging_face(
        json.dumps(config), "tiny", CONFIG_URL, "text-classification", json.dumps(tokenizer_config)
    )
    assert plain.max_length == limit


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


def test_the_bytes_of_a_variant_are_those_of_all_its_files() -> None:
    source = manifest_json(["fp32"])
    source["variants"]["fp32"]["files"].append({"path": "onnx/model.onnx_data", "bytes": 50, "sha256": "0" * 64})
    assert read(source).variant("fp32").bytes == 54


def test_a_dtype_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownNameError, match="fp32, q8"):
        read(manifest_json(["q8", "fp32"])).variant("fp16")


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of each thing in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [deeper for key, each in items for deeper in ((*path, key), *paths(each, (*path, key)))]


def changed(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    source = copy.deepcopy(manifest_json(["fp32"]))
    place: Any = source
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return source


#: Everything in a manifest but the elements of lists, which may be fewer, and sha256 and such by name.
FIELDS = [path for path in paths(manifest_json(["fp32"])) if isinstance(path[-1], str)]
OPTIONAL = {
    ("files", "tokenizer.json"),
    ("variants", "fp32"),
    ("golden", 0, "inputs", "input_ids"),
    ("golden", 0, "inputs", "attention_mask"),
    ("variants", "fp32", "golden", 0, "logits"),
    ("files", "tokenizer.json", "path"),
}


@pytest.mark.parametrize("path", [path for path in FIELDS if path not in OPTIONAL], ids=str)
def test_a_manifest_that_lacks_a_field_is_refused_with_its_url(path: tuple[Any, ...]) -> None:
    with pytest.raises(ManifestError, match=URL) as caught:
        read(changed(path, None))
    assert caught.value.details["url"] == URL


@pytest.mark.parametrize("wrong", [True, "seven", 7, [1], {"a": 1}], ids=str)
@pytest.mark.parametrize("path", FIELDS, ids=str)
def test_a_field_of_the_wrong_type_is_a_manifest_error_or_leaves_a_sound_manifest(
    path: tuple[Any, ...], wrong: Any
) -> None:
    source = changed(path, wrong)
    with suppress(ManifestError):
        manifest = read(source)
        assert all(isinstance(label, str) for label in manifest.labels)
        assert type(manifest.max_length) is int
        assert all(isinstance(v, str) for v in (manifest.name, manifest.revision, *manifest.inputs))
        assert all(type(file.bytes) is int for each in manifest.variants.values() for file in each.files)


@pytest.mark.parametrize("labels", ["positive", {"0": "negative"}, [1, 2], 5])
def test_labels_that_are_no_list_of_texts_are_refused(labels: object) -> None:
    with pytest.raises(ManifestError, match="labels"):
        read(manifest_json(["fp32"], labels=labels))


def test_a_variant_without_files_is_refused() -> None:
    with pytest.raises(ManifestError, match="no files"):
        read(changed(("variants", "fp32", "files"), []))


def test_an_unknown_dtype_in_a_manifest_is_refused_with_the_known_ones() -> None:
    source = manifest_json(["fp32"])
    source["variants"]["int3"] = source["variants"].pop("fp32")
    with pytest.raises(ManifestError, match="q4f16"):
        read(source)


@pytest.mark.parametrize("number", [0, 2, "1", None])
def test_another_format_is_refused_and_says_to_pack_again(number: object) -> None:
    with pytest.raises(ManifestError, match="Pack the model again"):
        read({**manifest_json(), "format": number})


@pytest.mark.parametrize(
    "text",
    [b"", b"<!doctype html>", b"{", b"\xff\xfe", b"[]", b"null", b'"text"', b"[" * 200_000],
    ids=["empty", "html", "cut", "no utf-8", "list", "null", "string", "deep"],
)
def test_what_is_no_json_object_is_refused_with_its_url(text: bytes) -> None:
    with pytest.raises(ManifestError, match=URL):
        ModelManifest.from_json(text, URL)
    with pytest.raises(ManifestError, match=CONFIG_URL):
        ModelManifest.from_hugging_face(text, "tiny", CONFIG_URL, "text-classification")


def test_a_hugging_face_folder_gives_labels_length_and_conventional_files() -> None:
    labels = {str(number): f"label {number}" for number in range(11)}
    manifest = read_plain({"id2label": labels, "max_position_embeddings": 128})
    assert not manifest.packed
    assert manifest.revision == ""
    assert manifest.labels == tuple(labels.values())  # 10 after 9, not after 1
    assert manifest.max_length == 128
    assert {dtype: each.files[0].path for dtype, each in manifest.variants.items()} == {
        "fp32": "onnx/model.onnx",
        "fp16": "onnx/model_fp16.onnx",
        "q8": "onnx/model_quantized.onnx",
        "q4": "onnx/model_q4.onnx",
        "q4f16": "onnx/model_q4f16.onnx",
    }
    assert {dtype for dtype, each in manifest.variants.items() if each.features} == {"fp16", "q4f16"}


def test_an_empty_configuration_has_defaults() -> None:
    manifest = read_plain({})
    assert (manifest.labels, manifest.max_length) == ((), 512)
    assert manifest.problem_type == "single_label_classification"


@pytest.mark.parametrize(
    ("external", "with_data"),
    [
        (True, set(SUFFIXES)),
        (False, set()),
        ({"model.onnx": True}, {"fp32"}),
        ({"fp16": 1, "model_q4.onnx": True}, {"fp16", "q4"}),
    ],
)
def test_external_data_is_listed_where_the_configuration_says_so(external: object, with_data: set[str]) -> None:
    manifest = read_plain({"transformers.js_config": {"use_external_data_format": external}})
    assert {dtype for dtype, each in manifest.variants.items() if len(each.files) == 2} == with_data
    assert all(
        each.files[1].path == f"{each.files[0].path}_data" for each in manifest.variants.values() if each.files[1:]
    )


@pytest.mark.parametrize(
    "config",
    [
        {"id2label": {"positive": "0"}},
        {"id2label": ["negative", "positive"]},
        {"id2label": {"0": 0}},
        {"id2label": 5},
        {"transformers.js_config": "yes"},
        {"max_position_embeddings": "512"},
        {"problem_type": ["x"]},
    ],
    ids=str,
)
def test_a_broken_configuration_is_refused_with_its_url(config: object) -> None:
    with pytest.raises(ManifestError, match=CONFIG_URL):
        read_plain(config)


@given(st.data())
def test_the_revision_changes_with_any_value(data: st.DataObject) -> None:
    source = manifest_json(["fp32", "q8"])
    leaves = [path for path in paths(source) if path != ("revision",)]
    path = data.draw(st.sampled_from(leaves))
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
    manifest = read(manifest_json(["fp32"], golden=[{"inputs": {"x": stored}}]))
    assert manifest.golden_inputs[0]["x"].data == tensor.data
