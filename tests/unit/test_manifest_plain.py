"""A Hugging Face folder without ``edgeinfer.json``: the forms of configuration that are found in the wild."""

from __future__ import annotations

import json

import pytest

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import SUFFIXES, ModelManifest, length_limit
from tests.unit.fakes import feeds, model

URL = "https://host.test/models/tiny/config.json"


def read(config: object) -> ModelManifest:
    return ModelManifest.from_hugging_face(json.dumps(config), "tiny", URL, "text-classification")


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
        json.dumps(config), "tiny", URL, "text-classification", json.dumps(tokenizer_config)
    )
    assert plain.max_length == limit


def test_a_folder_gives_labels_length_and_conventional_files() -> None:
    labels = {str(number): f"label {number}" for number in range(11)}
    manifest = read({"id2label": labels, "max_position_embeddings": 128})
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
    manifest = read({})
    assert (manifest.labels, manifest.max_length) == ((), 512)
    assert manifest.problem_type == "single_label_classification"


@pytest.mark.parametrize(
    ("config", "labels"),
    [
        ({"num_labels": 3}, ("LABEL_0", "LABEL_1", "LABEL_2")),
        ({"id2label": None, "num_labels": 2}, ("LABEL_0", "LABEL_1")),
        ({"id2label": {}, "label2id": {}}, ()),
        ({"id2label": {"0": "no", "1": "yes"}, "num_labels": 5}, ("no", "yes")),
    ],
    ids=str,
)
def test_labels_without_names_are_numbered_as_hugging_face_does(config: object, labels: tuple[str, ...]) -> None:
    assert read(config).labels == labels


@pytest.mark.parametrize("given", [None, "", "single_label_classification"])
def test_no_problem_type_is_one_label_for_each_text(given: object) -> None:
    assert read({"problem_type": given}).problem_type == "single_label_classification"


@pytest.mark.parametrize("config", [{}, {"transformers.js_config": None}, {"transformers.js_config": {"dtype": "q8"}}])
def test_without_a_word_of_external_data_there_may_be_a_file_of_it(config: object) -> None:
    for variant in read(config).variants.values():
        assert (
            [file.optional for file in variant.files] == [file.optional for file in variant.elsewhere] == [False, True]
        )
        assert variant.files[1].path == f"{variant.files[0].path}_data"


def test_a_folder_that_was_not_packed_says_what_it_cannot_promise() -> None:
    (said,) = read({}).not_guaranteed
    assert "not verified" in said
    assert "golden sample" in said
    assert "a GPU computes wrongly would not be noticed" in said
    assert "edgeinfer pack" in said


def test_a_packed_folder_promises_all_unless_it_has_no_golden_samples() -> None:
    assert model("q8", golden_inputs=(feeds(2, 4, 3),)).not_guaranteed == ()
    (said,) = model("q8").not_guaranteed
    assert "no golden samples" in said


@pytest.mark.parametrize(
    ("external", "with_data"),
    [
        (True, set(SUFFIXES)),
        (1, set(SUFFIXES)),
        (False, set()),
        ({"model.onnx": True}, {"fp32"}),
        ({"model": 1}, set(SUFFIXES)),
        ({"model": True, "model_quantized.onnx": False}, set(SUFFIXES) - {"q8"}),
        ({"fp16": 1, "model_q4.onnx": True}, {"fp16", "q4"}),
        ({"decoder_model.onnx": True}, set()),
    ],
)
def test_external_data_is_listed_where_the_configuration_says_so(external: object, with_data: set[str]) -> None:
    manifest = read({"transformers.js_config": {"use_external_data_format": external}})
    assert {dtype for dtype, each in manifest.variants.items() if len(each.files) == 2} == with_data
    assert all(
        each.files[1].path == f"{each.files[0].path}_data" for each in manifest.variants.values() if each.files[1:]
    )
    assert not any(file.optional for each in manifest.variants.values() for file in each.files)


def test_external_data_in_several_files_is_numbered_as_transformers_js_does() -> None:
    manifest = read({"transformers.js_config": {"use_external_data_format": {"model_quantized.onnx": 3}}})
    assert [file.path for file in manifest.variant("q8").files] == [
        "onnx/model_quantized.onnx",
        "onnx/model_quantized.onnx_data",
        "onnx/model_quantized.onnx_data_1",
        "onnx/model_quantized.onnx_data_2",
    ]


def test_the_same_files_may_be_at_the_top_as_optimum_writes_them() -> None:
    variant = read({"transformers.js_config": {"use_external_data_format": True}}).variant("fp32")
    assert [file.path for file in variant.elsewhere] == ["model.onnx", "model.onnx_data"]


@pytest.mark.parametrize(
    "config",
    [
        {"id2label": {"positive": "0"}},
        {"id2label": ["negative", "positive"]},
        {"id2label": {"0": 0}},
        {"id2label": 5},
        {"num_labels": "2"},
        {"num_labels": True},
        {"transformers.js_config": "yes"},
        {"transformers.js_config": {"use_external_data_format": "../../secret"}},
        {"transformers.js_config": {"use_external_data_format": 101}},
        {"transformers.js_config": {"use_external_data_format": {"model.onnx": -1}}},
        {"max_position_embeddings": "512"},
        {"problem_type": ["x"]},
    ],
    ids=str,
)
def test_a_broken_configuration_is_refused_with_its_url(config: object) -> None:
    with pytest.raises(ManifestError, match=URL):
        read(config)
