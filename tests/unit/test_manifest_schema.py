"""The published schema and the package's own reader refuse the same manifests: jsonschema is the judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import SUFFIXES, ModelManifest, schema
from edgeinfer_browser.manifest.json_schema import ANNOTATIONS, CHECKS, violation
from edgeinfer_browser.manifest.rules import contradiction
from edgeinfer_browser.packing.schema import require_valid
from edgeinfer_browser.tensors import DTYPES
from tests.unit.fakes import manifest_json
from tests.unit.manifest_changes import GONE, MANIFEST, TABLE, URL, Place, changed, places, read, sealed

JUDGE = Draft202012Validator(schema())


def subschemas(node: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema in the schema."""
    yield node
    for keyword in ("properties", "$defs"):
        for each in node.get(keyword, {}).values():
            yield from subschemas(each)
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(node.get(keyword), dict):
            yield from subschemas(node[keyword])


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())


def test_every_keyword_of_the_schema_is_checked() -> None:
    used = {keyword for each in subschemas(schema()) for keyword in each}
    assert used <= CHECKS.keys() | ANNOTATIONS
    assert used >= CHECKS.keys()


def test_every_field_has_a_title_and_a_description() -> None:
    for each in subschemas(schema()):
        for name, field in each.get("properties", {}).items():
            told = field if "description" in field else schema()["$defs"][field["$ref"].removeprefix("#/$defs/")]
            assert told["title"], name
            assert len(told["description"]) > 5, name


def test_the_schema_names_the_dtypes_that_the_package_has() -> None:
    assert schema()["properties"]["variants"]["propertyNames"]["enum"] == list(SUFFIXES)
    assert schema()["$defs"]["dtype_name"]["enum"] == list(SUFFIXES)
    assert schema()["$defs"]["dtype"]["enum"] == list(DTYPES)


@pytest.mark.parametrize("source", [MANIFEST, manifest_json(), manifest_json(["fp32"], files={})])
def test_a_right_manifest_is_accepted_by_all(source: dict[str, Any]) -> None:
    assert JUDGE.is_valid(source)
    assert require_valid(source) is not None
    assert read(source).packed


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["what"])
def test_both_sides_judge_as_the_shared_table_says(case: dict[str, Any]) -> None:
    source = changed(tuple(case["at"]), case.get("put", GONE))
    assert JUDGE.is_valid(source) == case["valid"]
    if case["valid"]:
        read(source)
        require_valid(source)
        return
    with pytest.raises(ManifestError, match=URL):
        read(source)
    with pytest.raises(ManifestError):
        require_valid(source)


#: Values that are right in some places and wrong in others.
PLAIN = st.one_of(
    st.sampled_from([None, True, False, 0, 1, -1, 7, 2**53, 1.0, 0.5, -0.5, 1e300, "", "x", "fp32", "onnx/model.onnx"]),
    st.sampled_from(
        ["../x", "0" * 64, "0" * 64 + "\n", "int64", [], {}, [1], [[1]], ["x"], {"x": 1}, [True], "A" * 64]
    ),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
JSON = st.recursive(PLAIN, lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(st.text(), deeper, max_size=3))


def at(place: Place) -> Any:
    value: Any = MANIFEST
    for key in place:
        value = value[key]
    return value


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Place, dict[str, Any]]:
    """The place, and the manifest with that place gone, replaced, one level deeper, twice, or with one key more."""
    place = draw(st.sampled_from(places(MANIFEST)))
    before = at(place)
    kind = draw(st.sampled_from(["gone", "other", "other", "nested", "boxed", "twice", "more"]))
    if kind == "gone":
        return place, changed(place, GONE)
    values = {
        "other": draw(JSON),
        "nested": [before],
        "boxed": {"value": before},
        "twice": [*before, *before] if isinstance(before, list) else before,
        "more": {**before, draw(st.text()): draw(JSON)} if isinstance(before, dict) else before,
    }
    return place, changed(place, values[kind])


@settings(max_examples=120, deadline=None)
@given(mutations())
def test_what_the_schema_refuses_the_reader_refuses_and_nothing_else_but_contradictions(
    mutation: tuple[Place, dict[str, Any]],
) -> None:
    place, source = mutation
    valid = JUDGE.is_valid(source)
    assert (violation(source, schema()) is None) == valid
    if not valid:
        with pytest.raises(ManifestError, match=URL):
            read(source)
    elif contradiction(source):
        with pytest.raises(ManifestError, match="Pack the model again"):
            read(source)
    elif "data" in place or "dims" in place or "dtype" in place or "inputs" in place or "golden" in place:
        with suppress(ManifestError):  # values may not fit their dtype and dims, which Tensor checks
            read(source)
    else:
        assert read(source).revision == source["revision"]


@given(JSON)
def test_any_json_is_a_manifest_or_a_manifest_error(value: Any) -> None:
    with pytest.raises(ManifestError):
        read(value)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("place", [("variants", "q8", "tolerance"), ("variants", "q8", "agreement", "mean_cosine")])
def test_numbers_that_json_does_not_have_are_refused(place: Place, number: str) -> None:
    text = json.dumps(sealed(changed(place, "HERE"))).replace('"HERE"', number)
    with pytest.raises(ManifestError, match=URL):
        ModelManifest.from_json(text, URL)
    with pytest.raises(ManifestError, match=r"NaN|infinite|not valid|minimum|would"):
        require_valid(json.loads(text))


def test_a_message_names_the_place_the_value_and_the_reason() -> None:
    with pytest.raises(ManifestError, match=r"variants\.q8\.files\[1\]\.path is '\.\./x'\. Relative to the folder"):
        read(changed(("variants", "q8", "files", 1, "path"), "../x"))
    with pytest.raises(ManifestError, match=r"max_length is '256', not integer"):
        read(changed(("max_length",), "256"))
    with pytest.raises(ManifestError, match=r"heads\[0\] has no 'output'"):
        read(changed(("heads", 0, "output"), GONE))
    with pytest.raises(ManifestError, match="at \\$\\.max_length"):
        require_valid(changed(("max_length",), "256"))
