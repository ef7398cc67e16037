"""Parts of a manifest that contradict each other are refused, although each alone is right."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import schema
from edgeinfer_browser.packing.schema import require_valid
from tests.unit.fakes import manifest_json
from tests.unit.manifest_changes import MANIFEST, Place, changed, read, sealed

HEAD = MANIFEST["heads"][0]
FILE = MANIFEST["variants"]["q8"]["files"][0]
TENSOR = {"dtype": "float32", "dims": [1, 3], "data": [1.0, 2.0, 3.0]}
SAMPLE = MANIFEST["golden"][0]
Q8 = ("variants", "q8")

CONTRADICTIONS: list[tuple[Place, object, str]] = [
    (("heads", 0, "labels"), ["a", "b", "c"], "'sentiment_logits' is 2 wide, but has 3 labels"),
    (("heads",), [HEAD, HEAD], "heads has 'sentiment' twice"),
    (("heads",), [HEAD, {**HEAD, "name": "other"}], "heads has 'sentiment_logits' twice"),
    (("heads", 0, "output"), "topic_logits", "reads 'topic_logits', which is no output"),
    (("inputs", 1, "name"), "input_ids", "inputs has 'input_ids' twice"),
    (("inputs", 1, "name"), "token_type_ids", "the inputs are input_ids, token_type_ids"),
    (("outputs", 1, "name"), "sentence_embedding", "outputs has 'sentence_embedding' twice"),
    (("outputs", 0, "name"), "pooled", "'sentence_embedding' is none of the outputs"),
    (("golden",), [], "1 golden outputs for 0 golden samples"),
    (("golden",), [SAMPLE, SAMPLE], "1 golden outputs for 2"),
    ((*Q8, "golden", 0, "sentiment_logits"), TENSOR, "'sentiment_logits' is 3 wide, but has 2 labels"),
    ((*Q8, "files"), [FILE, FILE], "'onnx/model_quantized.onnx' twice"),
    ((*Q8, "files", 0, "path"), "onnx/model.bin", "no .onnx file"),
    ((*Q8, "files", 1, "path"), "onnx/model.onnx", "listed elsewhere"),
    ((*Q8, "files", 1, "path"), "tokenizer.json", "listed elsewhere"),
    (("golden", 0, "inputs", "input_ids", "data"), [101, 102], "has 24 bytes, but the buffer has 16"),
    (("golden", 0, "inputs", "input_ids", "data"), [101, 0.5, 102], "do not fit a int64 tensor"),
    (("golden", 0, "inputs", "input_ids", "data"), [101, 2**70, 102], "do not fit a int64 tensor"),
    ((*Q8, "golden", 0, "sentence_embedding", "data"), [1e300, 0, 0, 0], "do not fit float32"),
]


@pytest.mark.parametrize(("place", "value", "message"), CONTRADICTIONS, ids=str)
def test_a_contradiction_is_refused_and_named(place: Place, value: object, message: str) -> None:
    source = changed(place, value)
    assert Draft202012Validator(schema()).is_valid(source)
    with pytest.raises(ManifestError, match=message):
        read(source)
    with pytest.raises(ManifestError, match=message):
        require_valid(source)


@pytest.mark.parametrize("labels", [["one"], ["one", "two", "three"]])
def test_labels_must_be_as_many_as_the_logits(labels: list[str]) -> None:
    with pytest.raises(ManifestError, match=f"'logits' is 2 wide, but has {len(labels)} labels"):
        read(manifest_json(labels=labels))


def test_labels_are_held_against_the_declared_outputs_too() -> None:
    outputs = [{"name": "logits", "dtype": "float32", "dims": ["batch_size", 5]}]
    with pytest.raises(ManifestError, match="outputs: 'logits' is 5 wide, but has 2 labels"):
        read(manifest_json(outputs=outputs))
    read(manifest_json(outputs=[{**outputs[0], "dims": ["batch_size", "labels"]}]))


@pytest.mark.parametrize(
    "place",
    [("name",), ("variants", "q8", "files", 0, "sha256"), ("golden", 0, "inputs", "input_ids", "data", 1)],
    ids=str,
)
def test_a_manifest_that_was_changed_by_hand_is_refused_by_its_revision(place: Place) -> None:
    source = copy.deepcopy(MANIFEST)
    within: Any = source
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = {"name": "x", "sha256": "0" * 64}.get(str(place[-1]), 5)
    with pytest.raises(ManifestError, match=r"revision is .* it was changed"):
        read(source)
    assert read(sealed(source)).packed
