"""A model from the Hugging Face hub by its id: only the files that packing reads, kept in the hub's own cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from edgeinfer_browser.errors import FetchError, InputError, NotFoundError

#: Small files: what the model is, how text becomes ids, how pictures become numbers, how embeddings are made.
SMALL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "preprocessor_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
    "README.md",
    "LICENSE*",
)
#: The fp32 graph, from which the other variants are made; else any graph; else weights to export one from.
GRAPHS = (
    ("onnx/model.onnx", "onnx/model.onnx_data*", "model.onnx", "model.onnx_data*"),
    ("onnx/*.onnx", "onnx/*.onnx_data*", "*.onnx", "*.onnx_data*"),
    ("model*.safetensors", "model.safetensors.index.json"),
    ("pytorch_model.bin",),
)


def fetch(hub_id: str, revision: str | None = None, cache: Path | None = None) -> Path:
    """Have a model of the hub in a folder; what was fetched before is not fetched again, and serves without a network.

    Args:
        hub_id: ``owner/name``.
        revision: a branch, tag or commit; None is the main branch.
        cache: folder of the cache; None is huggingface_hub's own (``HF_HOME``). ``HF_ENDPOINT`` names another hub.

    Raises:
        InputError: when huggingface_hub is not installed, or ``hub_id`` cannot be an id.
        NotFoundError: when the hub has no such model or revision, or does not show it to everyone.
        FetchError: when the hub cannot be reached, or answers otherwise than it should.
    """
    folder = Path()
    for graph in GRAPHS:
        folder = _snapshot(hub_id, revision, cache, (*SMALL_FILES, *graph))
        if any(path.is_file() for pattern in graph for path in folder.glob(pattern)):
            break
    return folder


def _snapshot(hub_id: str, revision: str | None, cache: Path | None, patterns: Iterable[str]) -> Path:
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError as error:
        raise InputError(
            f"{hub_id} is on the Hugging Face hub, and huggingface_hub is not installed: "
            'pip install "edgeinfer-browser[pack]".'
        ) from error
    try:
        return Path(
            snapshot_download(
                hub_id,
                revision=revision,
                cache_dir=cache,
                allow_patterns=list(patterns),
                endpoint=os.environ.get("HF_ENDPOINT"),
            )
        )
    except errors.HFValidationError as error:
        raise InputError(f"{hub_id!r} is not a hub id (owner/name): {error}", source=hub_id) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise NotFoundError(_no_such_model(hub_id, revision), url=hub_id, status=_status(error)) from error
    except (OSError, errors.HTTPError) as error:  # type: ignore[attr-defined]  # httpx's, which its errors are too
        raise FetchError(_unreachable(hub_id, error), url=hub_id, status=_status(error)) from error


def _status(error: BaseException) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _no_such_model(hub_id: str, revision: str | None) -> str:
    at = f" at revision {revision}" if revision else ""
    return (
        f"The hub has no {hub_id}{at}, or does not show it to you. Check the spelling; for a private or gated model, "
        "accept its terms on the hub and log in with: hf auth login."
    )


def _unreachable(hub_id: str, error: Exception) -> str:
    hub = os.environ.get("HF_ENDPOINT") or "the Hugging Face hub"
    first_line = str(error).strip().partition("\n")[0]
    return (
        f"{hub_id} could not be fetched from {hub}: {first_line} Is there a network? You can also download its files "
        "elsewhere (config.json, tokenizer.json, onnx/) and give their folder instead."
    )
