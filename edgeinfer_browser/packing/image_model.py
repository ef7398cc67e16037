"""A model of pictures, made fit for classification: uint8 pixels in, resized and scaled in the graph, logits out."""

from __future__ import annotations

from pathlib import Path

from edgeinfer_browser.packing.classification import labels_of, with_logits
from edgeinfer_browser.packing.images import prepend_preprocessing
from edgeinfer_browser.packing.model import PreparedModel, first_answers, read_model
from edgeinfer_browser.packing.model_config import labelled
from edgeinfer_browser.packing.options import Options
from edgeinfer_browser.packing.pruning import pruned
from edgeinfer_browser.packing.samples import picture_samples
from edgeinfer_browser.packing.simplify import fused, simplified
from edgeinfer_browser.packing.source import Source
from edgeinfer_browser.packing.trials import Trial, dims_of_trials
from edgeinfer_browser.pipelines.labels import SINGLE_LABEL


def prepare_image(source: Source, path: Path, task: str, options: Options, *, optimize: bool) -> PreparedModel:
    """Read a graph and make it fit for ``image-classification``; arguments as of ``prepare_text``.

    Raises:
        GraphError, ManifestError: for what does not fit; says what.
    """
    source.required(
        "preprocessor_config.json", "It says how pictures are resized and scaled; the model's publisher has it."
    )
    preprocessing, config = source.json("preprocessor_config.json"), source.json("config.json")
    model = prepend_preprocessing(read_model(path), preprocessing)
    samples = picture_samples()
    notes = ["pictures are resized and scaled in the graph, from uint8 pixels"]
    if optimize:
        feeds, before = [sample.feeds for sample in samples], first_answers(model, samples, source.name)
        model, what = simplified(model, feeds, before)
        model, how = fused(model, feeds, before)
        notes += [what, how]
    dims = dims_of_trials(model, source.name, [Trial.of_pixels(1, 40, 30), Trial.of_pixels(2, 17, 61)])
    model, width, told, note = with_logits(model, dims, source.name)
    labels = labels_of(config, options.labels, width, source.name)
    problem = str(config.get("problem_type") or told or SINGLE_LABEL)
    return PreparedModel(
        model=pruned(model)[0],
        config=labelled(config, labels, problem),
        samples=samples,
        notes=[*notes, note],
        max_length=None,
        labels=labels,
        problem_type=problem,
        more={"preprocessing": preprocessing},
    )
