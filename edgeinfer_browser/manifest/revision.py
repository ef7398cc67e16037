"""A manifest's revision: one hash that stands for a whole model folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

#: The version of the edgeinfer.json format that this package reads and writes.
FORMAT = 1


def revision_of(manifest: Mapping[str, Any]) -> str:
    """sha256 (hex) over the manifest's canonical JSON without its ``revision``: all file hashes are in it.

    Raises:
        ValueError: for a number that JSON does not have (NaN, infinity).
    """
    rest = {key: value for key, value in manifest.items() if key != "revision"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()
