"""PyTorch weights to an ONNX graph: torch.onnx on a transformers model, checked against PyTorch before it is used.

The extra ``export`` brings torch and transformers. torch.onnx, not optimum: optimum-onnx 0.1 wants transformers 4,
whose huggingface_hub and tokenizers cannot be installed beside this package's. Its exporter by tracing, not the newer
one: on MiniLM tracing takes 6 s and is 2e-6 off; torch.export takes 27 to 35 s and the graph gave other answers.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgeinfer_browser.errors import GraphError, InputError, UnknownNameError
from edgeinfer_browser.packing.native import answers, open_session

OPSET = 18
#: Largest absolute difference between PyTorch and the exported graph on inputs of another shape than the traced ones.
TOLERANCE = 1e-3
TEXT_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, slots=True)
class Export:
    """What a task is exported as: transformers' Auto class, its output, and weights that the output does without."""

    auto_class: str
    output: str
    axes: Mapping[int, str]
    unused: str = " "


BATCH, TOKENS = {0: "batch_size"}, {0: "batch_size", 1: "sequence_length"}
EXPORTS = {
    "feature-extraction": Export("AutoModel", "last_hidden_state", TOKENS, unused="pooler."),
    "text-classification": Export("AutoModelForSequenceClassification", "logits", BATCH),
    "token-classification": Export("AutoModelForTokenClassification", "logits", TOKENS),
    "image-classification": Export("AutoModelForImageClassification", "logits", BATCH),
}


def export(folder: Path, task: str, out: Path) -> Path:
    """Export a folder with config.json and PyTorch weights to ``out/onnx/model.onnx``, fp32; gives ``out``.

    Args:
        folder: config.json and model.safetensors or pytorch_model.bin.
        task: what the graph is for, e.g. ``"feature-extraction"``; decides its outputs.
        out: a folder; made when it is not there.

    Raises:
        InputError: when torch or transformers is not installed (says the pip line).
        UnknownNameError: for a task that is not exported.
        GraphError: when the weights cannot be loaded or lack the task's head, or the graph differs from PyTorch.
    """
    if task not in EXPORTS:
        raise UnknownNameError.of("task", task, EXPORTS)
    model = _loaded(folder, EXPORTS[task])
    names = _input_names(model, task)
    path = out / "onnx/model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    wrapper = _wrapper(model, names, EXPORTS[task].output)
    try:
        _trace(wrapper, _example(model.config, names, 2, 7), EXPORTS[task], path)
    except (RuntimeError, TypeError, ValueError) as error:
        raise GraphError(f"{folder} cannot be exported by torch.onnx: {error}", source=str(folder)) from error
    _check(wrapper, _example(model.config, names, 3, 5), path, folder)
    return out


def _loaded(folder: Path, wanted: Export) -> Any:
    try:
        import torch  # noqa: F401  # transformers imports without it and fails later
        import transformers
    except ImportError as error:
        raise InputError(
            f'{folder} has PyTorch weights and no ONNX graph; to export one: pip install "edgeinfer-browser[export]".',
            source=str(folder),
        ) from error
    auto_class = getattr(transformers, wanted.auto_class)
    options = {"attn_implementation": "eager", "local_files_only": True, "output_loading_info": True}
    try:
        model, loading = auto_class.from_pretrained(folder, dtype="float32", **options)
    except Exception as error:  # transformers, safetensors and pickle have no base in common
        raise GraphError(f"{folder} cannot be loaded by transformers: {error}", source=str(folder)) from error
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith(wanted.unused))
    if missing:
        raise GraphError(
            f"{folder} has no weights for {', '.join(missing[:4])}: it was not trained for this task. Name another "
            "task, or a model that was.",
            source=str(folder),
        )
    return model


def _input_names(model: Any, task: str) -> list[str]:
    if task == "image-classification":
        return ["pixel_values"]
    takes = inspect.signature(model.forward).parameters
    types = getattr(model.config, "type_vocab_size", 0)  # RoBERTa takes token types, and has only one
    return [name for name in TEXT_INPUTS if name in takes and (name != "token_type_ids" or types > 1)]


def _example(config: Any, names: Sequence[str], batch: int, length: int) -> list[Any]:
    """Inputs of one shape; of texts, the last is padded."""
    import torch

    random = torch.Generator().manual_seed(length)
    if names == ["pixel_values"]:
        side = config.image_size if isinstance(getattr(config, "image_size", None), int) else 224
        return [torch.rand((batch, config.num_channels, side, side), generator=random)]
    ids = torch.randint(0, config.vocab_size, (batch, length), generator=random)
    mask = torch.ones_like(ids)
    mask[-1, length // 2 :] = 0
    return [{"input_ids": ids, "attention_mask": mask}.get(name, torch.zeros_like(ids)) for name in names]


def _wrapper(model: Any, names: Sequence[str], output: str) -> Any:
    import torch

    class OneOutput(torch.nn.Module):  # type: ignore[misc]  # untyped where torch is not installed
        """Tensors in by position, one tensor out, as torch.onnx wants it."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return self.model(**dict(zip(names, inputs, strict=True)), return_dict=True)[output]

    wrapper = OneOutput().eval()  # of the wrapper: torch.onnx puts back the mode that it finds there
    wrapper.names, wrapper.output = list(names), output
    return wrapper


def _trace(wrapper: Any, example: Sequence[Any], wanted: Export, path: Path) -> None:
    import torch

    axes = BATCH if wrapper.names == ["pixel_values"] else TOKENS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about values that tracing fixes: the check on another shape would find them
        torch.onnx.export(
            wrapper,
            tuple(example),
            str(path),
            input_names=wrapper.names,
            output_names=[wrapper.output],
            dynamic_axes=dict.fromkeys(wrapper.names, axes) | {wrapper.output: wanted.axes},
            opset_version=OPSET,
            dynamo=False,
        )


def _check(wrapper: Any, example: Sequence[Any], path: Path, folder: Path) -> None:
    import torch

    with torch.no_grad():
        expected = wrapper(*example).numpy()
    feeds = {name: tensor.numpy() for name, tensor in zip(wrapper.names, example, strict=True)}
    [made] = answers(open_session(path), [feeds])
    apart = float(np.max(np.abs(made[wrapper.output] - expected)))
    if not apart <= TOLERANCE:
        raise GraphError(
            f"The graph exported from {folder} answers otherwise than PyTorch, by {apart:.2g}: it cannot be used. "
            "Export the model with a tool made for its architecture, and pack its .onnx file.",
            source=str(folder),
        )
