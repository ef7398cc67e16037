"""The documentation says what the schema says, and the published schema is the package's."""

from __future__ import annotations

import manifest_docs

from edgeinfer_browser.manifest import SUFFIXES


def test_the_tables_are_those_of_the_schema() -> None:
    page = manifest_docs.PAGE.read_text("utf-8")
    assert manifest_docs.with_tables(page) == page, "run: python tools/manifest_docs.py"
    assert "| `largest_tensor` | integer | Bytes of the largest weight" in page


def test_the_published_schema_is_the_package_s() -> None:
    assert manifest_docs.PUBLISHED.read_bytes() == manifest_docs.SOURCE.read_bytes(), (
        "run: python tools/manifest_docs.py"
    )


def test_every_dtype_is_named_with_its_file() -> None:
    page = manifest_docs.PAGE.read_text("utf-8")
    assert all(f"| `{dtype}` | `onnx/model{suffix}.onnx` |" in page for dtype, suffix in SUFFIXES.items())
