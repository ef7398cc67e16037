"""ModelManifest: what a model folder holds, so that a tier and a file can be chosen before anything is downloaded.

Two sources: ``edgeinfer.json``, written by ``edgeinfer pack`` (files with bytes and sha256, golden samples, measured
agreement; ``edgeinfer.schema.json`` describes it), or a plain Hugging Face folder's ``config.json`` (fewer guarantees:
``packed`` is False and nothing can be verified). dtype names and file names are transformers.js's: ``fp32`` is
``onnx/model.onnx``, ``q8`` is ``onnx/model_quantized.onnx``.
"""

from edgeinfer_browser.manifest.model import ModelManifest
from edgeinfer_browser.manifest.outputs import EMBEDDING, TOKEN_VECTORS, wanted_outputs
from edgeinfer_browser.manifest.packed import schema, tensor_to_json
from edgeinfer_browser.manifest.parts import SUFFIXES, Calibration, HeadSpec, ModelFile, Variant
from edgeinfer_browser.manifest.plain import DEFAULT_MAX_LENGTH, length_limit
from edgeinfer_browser.manifest.revision import FORMAT, revision_of

__all__ = [
    "DEFAULT_MAX_LENGTH",
    "EMBEDDING",
    "FORMAT",
    "SUFFIXES",
    "TOKEN_VECTORS",
    "Calibration",
    "HeadSpec",
    "ModelFile",
    "ModelManifest",
    "Variant",
    "length_limit",
    "revision_of",
    "schema",
    "tensor_to_json",
    "wanted_outputs",
]
