"""Run ONNX models from Python in the browser: WebGPU, then WASM, then your API.

The same lines in Pyodide and on CPython::

    from edgeinfer_browser import pipeline

    sentiment = await pipeline("text-classification", model="/models/sentiment/", api="/api/")
    await sentiment("I love it")  # [{"label": "positive", "score": 0.998}]
    sentiment.info.tier  # "wasm"
"""

from edgeinfer_browser.backends import Attempt, FakeBackend
from edgeinfer_browser.capabilities import Capabilities, detect
from edgeinfer_browser.errors import (
    AccessDeniedError,
    BackendError,
    ContentError,
    DeadlineError,
    EdgeInferError,
    FetchError,
    GoldenSampleError,
    GraphError,
    InputError,
    IntegrityError,
    ManifestError,
    ModelError,
    NoBackendError,
    NotFoundError,
    OutputError,
    RateLimitedError,
    RemoteError,
    RunError,
    ServerError,
    SessionError,
    TargetError,
    TokenizerError,
    TooManyRequestsError,
    UnknownNameError,
)
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.pipelines import pipeline
from edgeinfer_browser.policy import PRESETS, Policy, choose
from edgeinfer_browser.tensors import Tensor

__all__ = [
    "PRESETS",
    "AccessDeniedError",
    "Attempt",
    "BackendError",
    "Capabilities",
    "ContentError",
    "DeadlineError",
    "EdgeInferError",
    "FakeBackend",
    "FetchError",
    "GoldenSampleError",
    "GraphError",
    "InputError",
    "IntegrityError",
    "ManifestError",
    "ModelError",
    "ModelManifest",
    "NoBackendError",
    "NotFoundError",
    "OutputError",
    "Policy",
    "RateLimitedError",
    "RemoteError",
    "RunError",
    "ServerError",
    "SessionError",
    "TargetError",
    "Tensor",
    "TokenizerError",
    "TooManyRequestsError",
    "UnknownNameError",
    "choose",
    "detect",
    "pipeline",
]
