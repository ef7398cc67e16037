"""What pack writes, held against the published JSON Schema by jsonschema, and read back by the package itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

from edgeinfer_browser.errors import ManifestError
from edgeinfer_browser.manifest import ModelManifest, schema


def require_valid(manifest: Mapping[str, Any], where: str = "edgeinfer.json") -> ModelManifest:
    """The manifest, read, if a reader may have it. ``revision`` must be there already.

    Args:
        manifest: what is to be written, as JSON values.
        where: the file's path, for the message.

    Raises:
        ManifestError: when the schema refuses it, or its parts do not fit; names the place.
    """
    errors = Draft202012Validator(schema()).iter_errors(manifest)
    worst = min(errors, key=lambda error: len(error.absolute_path), default=None)
    if worst is not None:
        raise ManifestError(
            f"{where} would not be valid: {worst.message:.200} at {worst.json_path}. This is a defect of the packer, "
            "or of what it was given.",
            place=worst.json_path,
        )
    try:
        text = json.dumps(manifest, allow_nan=False)
    except ValueError as error:
        raise ManifestError(f"{where} would have a number that is NaN or infinite: {error}.") from error
    return ModelManifest.from_json(text, where)
