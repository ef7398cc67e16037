"""The shared manifest (``tests/manifest_cases.json``) with one place changed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from edgeinfer_browser.manifest import ModelManifest, revision_of

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "manifest_cases.json").read_text("utf-8"))
MANIFEST: dict[str, Any] = TABLE["manifest"]
URL = "https://host.test/models/encoder/edgeinfer.json"

#: Takes a place away, where a value would put one there.
GONE = object()

Place = tuple[str | int, ...]


def changed(at: Place, value: object) -> dict[str, Any]:
    """A copy with ``value`` at a place (``GONE``: nothing), and the revision that fits, unless that was the place."""
    source = copy.deepcopy(MANIFEST)
    place: Any = source
    for key in at[:-1]:
        place = place[key]
    if value is GONE:
        del place[at[-1]]
    else:
        place[at[-1]] = value
    return source if at[:1] == ("revision",) else sealed(source)


def sealed(source: dict[str, Any]) -> dict[str, Any]:
    """The manifest with the revision that fits it."""
    return {**source, "revision": revision_of(source)}


def read(source: object) -> ModelManifest:
    """As a page reads it: from text."""
    return ModelManifest.from_json(json.dumps(source), URL)


def places(value: Any, at: Place = ()) -> list[Place]:
    """The path of each thing in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [deeper for key, each in items for deeper in ((*at, key), *places(each, (*at, key)))]
