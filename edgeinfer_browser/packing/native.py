"""Feeds of texts and what native ONNX Runtime answers to them: one run a text, nothing padded.

One by one, because int8 kernels scale activations by what is in the batch, and because WASM runs texts so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeinfer_browser.backends.onnxruntime_native import create_session
from edgeinfer_browser.errors import RunError
from edgeinfer_browser.manifest import wanted_outputs
from edgeinfer_browser.pipelines.base import text_feeds
from edgeinfer_browser.tokenizers import model_tokenizer

if TYPE_CHECKING:
    import onnxruntime

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]


def feeds_of(tokenizer: Path, texts: Iterable[str], inputs: Sequence[str], max_length: int) -> list[dict[str, Array]]:
    """What a model is fed for each text: int64 arrays of shape [1, tokens], as the pipelines make them.

    Args:
        tokenizer: a tokenizer.json.
        texts: the texts.
        inputs: the names of the graph's inputs.
        max_length: tokens after which a text is truncated, special tokens included.
    """
    model = model_tokenizer(tokenizer.read_bytes(), max_length)
    return [
        {name: tensor.numpy() for name, tensor in text_feeds(model, text, inputs, str(tokenizer.parent)).items()}
        for text in texts
    ]


def open_session(model: Path | onnx.ModelProto, threads: int = 0) -> onnxruntime.InferenceSession:
    """A session of a file, or of a model in memory (up to protobuf's 2 GB); ``threads`` as ``create_session`` has it.

    Raises:
        SessionError: when ONNX Runtime refuses it, with its message.
    """
    return create_session(str(model) if isinstance(model, Path) else model.SerializeToString(), threads)


def answers(
    session: onnxruntime.InferenceSession, feeds: Iterable[Feeds], outputs: Sequence[str] = ()
) -> list[dict[str, Array]]:
    """The outputs, by name, of one run for each feed.

    Args:
        session: of any graph.
        feeds: inputs that the graph does not have are left out.
        outputs: their names; () is :func:`edgeinfer_browser.manifest.wanted_outputs`.

    Raises:
        RunError: when ONNX Runtime rejects a run.
    """
    names = outputs or wanted_outputs(output.name for output in session.get_outputs())
    wanted = [each.name for each in session.get_inputs()]
    made = []
    for feed in feeds:
        try:
            values = session.run(names, {name: np.asarray(feed[name]) for name in wanted if name in feed})
        except Exception as error:  # its classes share no base of their own
            raise RunError(f"Native ONNX Runtime rejected the run: {error}", tier="native") from error
        made.append(dict(zip(names, values, strict=True)))
    return made
