"""Image pre-processing in the graph: from uint8 pixels, as a picture is decoded, to what a model was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from edgeinfer_browser.errors import ManifestError


def prepend_preprocessing(model: onnx.ModelProto, preprocessor_config: Mapping[str, Any]) -> onnx.ModelProto:
    """A model whose one input is ``pixels``: uint8 [batch_size, height, width, 3], RGB, any height and width.

    Args:
        model: an image model with one input, float32 (or float16) [N, 3, H, W] or [N, H, W, 3]; left as it was.
        preprocessor_config: Hugging Face's preprocessor_config.json.

    Raises:
        ManifestError: for a key or value of the configuration that has no counterpart in the graph; names it.
        GraphError: when the model's input is not that of an image model, or cannot be brought to a newer opset.
    """
    raise ManifestError(f"no pre-processing yet: {sorted(preprocessor_config)} for {model.graph.name}")
