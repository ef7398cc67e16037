"""Every error this package raises on purpose: one tree, each message says what, why, and what next.

::

    EdgeInferError
    ├── InputError                 what was given to a call is not something it can take (a ValueError)
    │   └── UnknownNameError       a task, tier, dtype or preset that does not exist; lists those that do
    ├── ModelError                 the model folder is not usable
    │   ├── ManifestError          edgeinfer.json or config.json says something it may not
    │   ├── GraphError             an ONNX graph or its weights are not what they should be
    │   └── TokenizerError         tokenizer.json has a component or option this package does not know
    ├── FetchError                 a file could not be had
    │   ├── NotFoundError          the server answered 404 or 410
    │   ├── AccessDeniedError      it answered 401 or 403
    │   ├── TooManyRequestsError   it answered 429; ``retry_after`` seconds
    │   ├── ServerError            it answered 5xx, also when asked again
    │   ├── ContentError           an answer came, but it is not the file (HTML, empty, wrong type)
    │   └── IntegrityError         size or sha256 differ from the manifest
    ├── BackendError               a tier refused to load or to run
    │   ├── SessionError           the InferenceSession could not be created, or died
    │   ├── RunError               a run was rejected or gave values that are not finite
    │   ├── GoldenSampleError      the tier answers, but not what native ONNX Runtime answered
    │   └── RemoteError            the API tier did not give a usable answer
    │       └── RateLimitedError   it said 429; ``retry_after`` seconds
    ├── TargetError                no quantized file reaches the target that was asked for
    ├── OutputError                what was made could not be written; nothing half-written is left
    ├── DeadlineError              a step took longer than it may
    └── NoBackendError             every candidate was tried; the message lists each Attempt

Fields travel with the error (``error.details``), also from JavaScript to Python and from Python to the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class EdgeInferError(Exception):
    """Base of the tree; ``details`` holds the fields that the message was made of (JSON values)."""

    def __init__(self, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.details: dict[str, Any] = details

    @property
    def message(self) -> str:
        """The message alone."""
        return str(self.args[0])


class InputError(EdgeInferError, ValueError):
    """What was given to a call is not something it can take."""


class UnknownNameError(InputError):
    """A name outside a fixed list: ``UnknownNameError.of("task", "txt", ["text-classification"])``."""

    @classmethod
    def of(cls, kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
        """Build the message from the kind of thing, the name given and the names that exist."""
        names = sorted(known)
        return cls(f"Unknown {kind} {name!r}. Known: {', '.join(names)}.", kind=kind, name=str(name), known=names)


class ModelError(EdgeInferError):
    """The model folder is not usable."""


class ManifestError(ModelError):
    """``edgeinfer.json`` or ``config.json`` says something it may not, or lacks something needed."""


class GraphError(ModelError):
    """An ONNX graph or its weights are not what they should be: unknown operators, missing data, wrong shapes."""


class TokenizerError(ModelError):
    """``tokenizer.json`` has a component or option that this package does not know."""


class FetchError(EdgeInferError):
    """A file could not be had; ``details``: ``url`` and, when there was an answer, ``status``."""


class NotFoundError(FetchError):
    """The server answered 404 or 410, or the path does not exist."""


class AccessDeniedError(FetchError):
    """The server answered 401 (sign in) or 403 (forbidden)."""


class TooManyRequestsError(FetchError):
    """The server answered 429; ``details["retry_after"]`` is in seconds, or None when it did not say."""


class ServerError(FetchError):
    """The server answered 5xx, also when it was asked again; ``details["status"]`` is the last answer's."""


class ContentError(FetchError):
    """An answer came, but it is not the file: HTML, an error's JSON, an empty body, a Git-LFS pointer."""


class IntegrityError(FetchError):
    """Size or sha256 differ from the manifest; ``details``: ``url``, ``expected``, ``actual``."""


class BackendError(EdgeInferError):
    """A tier refused to load or to run."""


class SessionError(BackendError):
    """The ``InferenceSession`` could not be created, or the worker that held it died."""


class RunError(BackendError):
    """A run was rejected or gave values that are not finite."""


class GoldenSampleError(BackendError):
    """The tier answers, but not what native ONNX Runtime answered when the model was packed."""


class RemoteError(BackendError):
    """The API tier did not give a usable answer; ``details``: ``url`` and ``status`` when there was one."""


class RateLimitedError(RemoteError):
    """The API tier answered 429; ``details["retry_after"]`` is in seconds, or None when it did not say."""


class TargetError(EdgeInferError):
    """No quantized file reaches the target; ``details``: ``target``, ``best``, and what would reach it."""


class OutputError(EdgeInferError):
    """What was made could not be written; ``details``: ``path``. Nothing half-written is left."""


class DeadlineError(EdgeInferError):
    """A step took longer than it may; ``details``: ``step``, ``seconds``."""


class NoBackendError(EdgeInferError):
    """Every candidate was refused or failed; ``details["attempts"]`` lists them in order."""


def _tree(root: type[EdgeInferError]) -> dict[str, type[EdgeInferError]]:
    found = {root.__name__: root}
    for child in root.__subclasses__():
        found.update(_tree(child))
    return found


def from_fields(name: str, message: str, details: Mapping[str, Any]) -> EdgeInferError:
    """Rebuild an error that crossed a boundary as ``{name, message, details}``.

    A name outside the tree (a JavaScript ``TypeError``, say) becomes an ``EdgeInferError`` that keeps it.
    """
    known = _tree(EdgeInferError).get(name)
    if known is None:
        return EdgeInferError(f"{name}: {message}", **details)
    return known(message, **details)


def to_fields(error: BaseException) -> dict[str, Any]:
    """The ``{name, message, details}`` form of an error, for the other side of a boundary."""
    if isinstance(error, EdgeInferError):
        return {"name": type(error).__name__, "message": error.message, "details": error.details}
    return {"name": type(error).__name__, "message": str(error), "details": {}}
