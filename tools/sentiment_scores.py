"""Score texts with a built sentiment graph in native ONNX Runtime, one by one, as the browser does on WASM."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from sentiment_data import LabelledText
from tokenizers import Tokenizer

MAX_TOKENS = 256
NOT_PADDING = 6659  # "terrible": where the mask is 0, even this may not count

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def open_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer without padding, cutting only what the model cannot take."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def open_session(model: Path | bytes) -> ort.InferenceSession:
    """A CPU session on two threads, the machine's other users in mind."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    source = model if isinstance(model, bytes) else str(model)
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def feeds(ids: Ids, mask: Ids | None = None) -> dict[str, Ids]:
    """The three inputs for a batch of ids; without a mask every position counts."""
    ones = np.ones_like(ids)
    return {
        "input_ids": ids,
        "attention_mask": ones if mask is None else mask,
        "token_type_ids": np.zeros_like(ids),
    }


def run_each(session: ort.InferenceSession, tokenizer: Tokenizer, texts: Iterable[str]) -> Floats:
    """The first output for each text, one run a text: int8 scales depend on what shares the batch."""
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        rows.append(session.run(None, feeds(ids))[0][0])
    return np.array(rows, np.float32)


def run_padded(session: ort.InferenceSession, tokenizer: Tokenizer, texts: Iterable[str]) -> Floats:
    """The first output for all texts in one batch, padded to the longest with a token that means something."""
    encoded = [tokenizer.encode(text).ids for text in texts]
    longest = max(map(len, encoded))
    ids = np.full((len(encoded), longest), NOT_PADDING, np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return np.asarray(session.run(None, feeds(ids, mask))[0], np.float32)


def positive_scores(logits: Floats) -> Floats:
    """Softmax of two logits, second column."""
    return np.asarray(1 / (1 + np.exp(logits[:, 0] - logits[:, 1])), np.float32)


def score_texts(folder: Path, model: str, texts: Iterable[str]) -> Floats:
    """How positive each text is, by ``<folder>/onnx/<model>.onnx``."""
    session = open_session(folder / "onnx" / f"{model}.onnx")
    return positive_scores(run_each(session, open_tokenizer(folder / "tokenizer.json"), texts))


def accuracy(scores: Floats, texts: list[LabelledText]) -> float:
    """Share of texts on the right side of 0.5."""
    labels = np.array([text.label for text in texts])
    return float(np.mean((scores > 0.5) == labels))
