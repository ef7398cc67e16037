"""Write what of ``docs/`` comes from the manifest's JSON Schema: tables of manifest.md, a copy of the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeinfer_browser.manifest import schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "manifest.md"
PUBLISHED = DOCS / "edgeinfer.schema.json"
SOURCE = Path(__file__).resolve().parent.parent / "edgeinfer_browser/manifest/edgeinfer.schema.json"

#: The tables stand between these.
BEGIN, END = "<!-- tables: python tools/manifest_docs.py -->", "<!-- end of tables -->"

#: Heading -> the object that its table describes; None is the file itself.
TABLES = {
    "The file": None,
    "A variant": "variant",
    "A file of a variant": "file",
    "What was measured": "agreement",
    "A head": "head",
    "Advice": "advice",
    "An input or output": "value",
    "A golden sample": "golden_sample",
    "A tensor": "tensor",
    "Calibration": "calibration",
}

Schema = Mapping[str, Any]


def main() -> int:
    """Write both files."""
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
    PUBLISHED.write_text(SOURCE.read_text("utf-8"), "utf-8")
    return 0


def with_tables(page: str) -> str:
    """The page with its tables as the schema has them."""
    made = "\n\n".join("\n".join(_table(heading, name)) for heading, name in TABLES.items())
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: f"{BEGIN}\n\n{made}\n\n{END}", page, flags=re.S)


def _table(heading: str, name: str | None) -> Iterator[str]:
    described = schema() if name is None else schema()["$defs"][name]
    yield f"### {heading}"
    yield ""
    yield "| key | type | what it is |"
    yield "| --- | --- | --- |"
    for key, field in described["properties"].items():
        mark = "" if key in described.get("required", ()) else ", optional"
        whole = _resolved(field)
        yield f"| `{key}` | {_type(whole)}{mark} | {whole['description'].replace('|', chr(92) + '|')} |"


def _resolved(field: Schema) -> Schema:
    """A field with what its ``$ref`` says, where it says nothing itself."""
    return {**schema()["$defs"][field["$ref"].removeprefix("#/$defs/")], **field} if "$ref" in field else field


def _type(field: Schema) -> str:
    if "const" in field:
        return json.dumps(field["const"])
    if "items" in field:
        return f"array of {_type(_resolved(field['items']))}"
    if isinstance(field.get("additionalProperties"), dict):
        return f"object of {_type(_resolved(field['additionalProperties']))}"
    kind = field["type"]
    if kind == "object" and field.get("title"):
        return str(field["title"]).lower()
    return " or ".join([kind] if isinstance(kind, str) else kind)


if __name__ == "__main__":
    raise SystemExit(main())
