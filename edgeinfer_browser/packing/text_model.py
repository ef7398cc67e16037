"""A model of texts, made fit for its task: inputs as a text gives them, output as the task wants it, heads joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from edgeinfer_browser.manifest import EMBEDDING
from edgeinfer_browser.packing.classification import labels_of, with_logits
from edgeinfer_browser.packing.differences import largest_share
from edgeinfer_browser.packing.embedding import embedded
from edgeinfer_browser.packing.head_file import Head, read_head
from edgeinfer_browser.packing.heads import join_heads
from edgeinfer_browser.packing.model import PreparedModel, first_answers, read_model
from edgeinfer_browser.packing.model_config import derived_config, labelled
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.options import Options
from edgeinfer_browser.packing.pruning import pruned, without_type_ids
from edgeinfer_browser.packing.samples import Sample, text_samples
from edgeinfer_browser.packing.simplify import fused, simplified, unfused
from edgeinfer_browser.packing.small_files import POOLING_FILES, text_limit
from edgeinfer_browser.packing.source import Source
from edgeinfer_browser.packing.text_inputs import TEXT_INPUTS, check_text_inputs, output_dims
from edgeinfer_browser.pipelines.labels import SINGLE_LABEL

#: Share of the largest value by which padding may move a float32 answer: the order of sums alone makes 1e-6.
_PADDING = 1e-3


def prepare_text(source: Source, path: Path, task: str, options: Options, *, optimize: bool) -> PreparedModel:
    """Read a graph and make it fit for ``feature-extraction`` or ``text-classification``.

    Args:
        source: where the graph is from: its configuration and tokenizer.
        path: the .onnx file; of any dtype.
        task: what for.
        options: heads, labels, pooling, length.
        optimize: simplify and fuse: for float32 graphs alone.

    Raises:
        GraphError, ManifestError, InputError: for what does not fit; says what.
    """
    tokenizer = source.required("tokenizer.json", "A model of texts needs one: put it there, or name it (--tokenizer).")
    model = read_model(path)
    check_text_inputs(model, source.name)
    config = {**derived_config(model, source.json("tokenizer.json")), **source.json("config.json")}
    max_length = text_limit(source, config, options.max_length)
    samples = text_samples(tokenizer, TEXT_INPUTS, max_length)
    notes: list[str] = []
    if optimize:
        model, notes = _optimized(model, samples, source.name)
    prepared = PreparedModel(model, config, samples, notes, max_length)
    single_texts = task == "feature-extraction" or bool(options.heads)
    shaped = (_encoder if single_texts else _classifier)(prepared, source, task, options)
    return _finished(shaped, single_texts)


def _optimized(model: onnx.ModelProto, samples: Sequence[Sample], name: str) -> tuple[onnx.ModelProto, list[str]]:
    feeds, before = [sample.feeds for sample in samples], first_answers(model, samples, name)
    made, notes = model, []
    for step in (unfused, simplified, fused):
        made, note = step(made, feeds, before)
        notes.append(note)
    return made, notes


def _encoder(prepared: PreparedModel, source: Source, task: str, options: Options) -> PreparedModel:
    """Pooled, and with the heads."""
    heads = tuple(read_head(path) for path in options.heads)
    model, note = embedded(prepared.model, source, options.pooling, options.normalize)
    pools = any(value.name == EMBEDDING for value in model.graph.output)
    files = () if pools else POOLING_FILES
    made = replace(prepared, model=model, heads=heads, notes=[*prepared.notes, note], files=files)
    if not heads:
        return made
    names = ", ".join(head.name for head in heads)
    joined = replace(made, model=join_heads(model, heads, task), notes=[*made.notes, f"heads joined: {names}"])
    return joined if task == "feature-extraction" or len(heads) > 1 else _of_single_head(joined, heads[0])


def _of_single_head(prepared: PreparedModel, head: Head) -> PreparedModel:
    config = labelled(prepared.config, head.labels, head.problem_type)
    return replace(prepared, labels=head.labels, problem_type=head.problem_type, config=config)


def _classifier(prepared: PreparedModel, source: Source, _task: str, options: Options) -> PreparedModel:
    dims = output_dims(prepared.model, source.name)
    model, width, told, note = with_logits(prepared.model, dims, source.name)
    labels = labels_of(prepared.config, options.labels, width, source.name)
    problem = str(prepared.config.get("problem_type") or told or SINGLE_LABEL)
    config = labelled(prepared.config, labels, problem)
    notes = [*prepared.notes, note]
    return replace(prepared, model=model, config=config, labels=labels, problem_type=problem, notes=notes)


def _finished(prepared: PreparedModel, single_texts: bool) -> PreparedModel:
    """Without what is not needed; samples of the inputs that are left; a warning when padding changes the answer."""
    model, notes = prepared.model, list(prepared.notes)
    if single_texts and not any(sample.feeds["token_type_ids"].any() for sample in prepared.samples):
        folded = without_type_ids(model)
        model = folded or model
        notes += ["token_type_ids folded: of a single text they are all 0"] if folded else []
    model, dropped = pruned(model)
    notes += [f"inputs dropped that nothing reads: {', '.join(dropped)}"] if dropped and model is prepared.model else []
    inputs = [value.name for value in model.graph.input]
    samples = [sample.only(inputs) for sample in prepared.samples]
    return replace(prepared, model=model, notes=notes, samples=samples, warnings=_padding_warnings(model, samples))


def _padding_warnings(model: onnx.ModelProto, samples: Sequence[Sample]) -> list[str]:
    """What to tell when a short text is answered otherwise beside a longer one, padded to its length."""
    ordered = sorted(samples, key=lambda sample: sample.feeds["input_ids"].size)
    short, longer = ordered[1].feeds, ordered[2].feeds
    length = longer["input_ids"].shape[1]
    padded = {
        name: np.concatenate([np.pad(short[name], ((0, 0), (0, length - short[name].shape[1]))), longer[name]])
        for name in short
    }
    session = open_session(model)
    alone, both = answers(session, [short])[0], answers(session, [padded])[0]
    vectors = [name for name, array in alone.items() if array.ndim == 2]
    share = largest_share([{n: alone[n] for n in vectors}], [{n: both[n][:1] for n in vectors}])
    if share <= _PADDING:
        return []
    return [
        f"Padding changes the answer, by {share:.2g} of the largest value: the graph does not heed attention_mask "
        "everywhere. Run texts one by one, or in batches of equal length."
    ]
