"""From labelled texts and an encoder to a head: read the encoder as pack() does, run each text, fit, write the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgeinfer_browser.errors import GraphError, OutputError
from edgeinfer_browser.packing.head_file import Features, Floats, Head, encoder_digest, head_json, require_name
from edgeinfer_browser.packing.head_fit import fit_head, require_enough
from edgeinfer_browser.packing.labelled import LabelledTexts
from edgeinfer_browser.packing.model import PreparedModel
from edgeinfer_browser.packing.native import answers, feeds_of, open_session
from edgeinfer_browser.packing.options import Options
from edgeinfer_browser.packing.pooled_layers import features_model
from edgeinfer_browser.packing.source import Source
from edgeinfer_browser.packing.text_model import prepare_text

Log = Callable[[str], None]

#: Texts after which the log says how far it is.
_EVERY = 1000


def train_head(
    source: Source,
    data: LabelledTexts,
    *,
    name: str,
    kind: Features = "every_layer",
    options: Options | None = None,
    folds: int = 5,
    log: Log = lambda _: None,
) -> Head:
    """A head for the encoder of a source, as :func:`edgeinfer_browser.packing.pack.pack` would pack it.

    Args:
        source: the encoder; its fp32 graph is read.
        data: the texts with their labels.
        name: the head's name.
        kind: what the head reads: every layer, or the embedding alone.
        options: pooling, normalisation and length, which must be those that it will be packed with.
        folds: parts of the cross-validation.
        log: takes a line now and then.

    Raises:
        InputError: when the texts do not suffice.
        GraphError, ManifestError: when the source is no encoder of texts, or its layers cannot be found.
    """
    require_name(name)
    require_enough(data, folds)
    if "fp32" not in source.graphs:
        raise GraphError(
            f"{source.name} has no fp32 graph (it has {', '.join(source.graphs)}), which a head is fitted on."
        )
    task = "feature-extraction"
    encoder = prepare_text(source, source.graphs["fp32"], task, options or Options(browser=None), optimize=True)
    features = _features(encoder, source, data, kind, log)
    digest = encoder_digest(encoder.model)
    return fit_head(features, data, name=name, kind=kind, encoder=digest, folds=folds, log=log)


def write_head(head: Head, out: Path) -> int:
    """Write a head's file, whole or not at all; its bytes.

    Raises:
        OutputError: when it could not be written.
    """
    text = head_json(head).encode()
    part = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(text)
        part.replace(out)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{out} could not be written: {error.strerror or error}.", path=str(out)) from error
    return len(text)


def _features(encoder: PreparedModel, source: Source, data: LabelledTexts, kind: Features, log: Log) -> Floats:
    """float32 [texts, n], one run a text, as WASM runs them."""
    session = open_session(features_model(encoder.model, kind))
    inputs = [value.name for value in encoder.model.graph.input]
    rows = []
    for start in range(0, len(data.texts), _EVERY):
        part = data.texts[start : start + _EVERY]
        feeds = feeds_of(source.files["tokenizer.json"], part, inputs, encoder.max_length or 0)
        rows += [answer["features"][0] for answer in answers(session, feeds)]
        if len(data.texts) > _EVERY:
            log(f"encoded {start + len(part)} of {len(data.texts)} texts")
    return np.array(rows, np.float32)
