"""pack(): from a source to a folder that browser and server can both trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import GraphError, UnknownNameError
from edgeinfer_browser.manifest import FORMAT, SUFFIXES
from edgeinfer_browser.packing.heads import head_entries
from edgeinfer_browser.packing.image_model import prepare_image
from edgeinfer_browser.packing.manifest_file import write_manifest
from edgeinfer_browser.packing.measurement import measured
from edgeinfer_browser.packing.model import PreparedModel
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.options import Options
from edgeinfer_browser.packing.small_files import write_small_files
from edgeinfer_browser.packing.source import Source, open_source
from edgeinfer_browser.packing.staging import staged
from edgeinfer_browser.packing.text_model import prepare_text
from edgeinfer_browser.packing.variants import VariantMaker, with_calibration
from edgeinfer_browser.packing.written import Written, write_variant

__all__ = ["TASKS", "Options", "VariantMaker", "pack"]

#: Task -> how a graph is made fit for it.
TASKS: Mapping[str, Callable[..., PreparedModel]] = {
    "feature-extraction": prepare_text,
    "image-classification": prepare_image,
    "text-classification": prepare_text,
}


def pack(
    source: str | Path | Source,
    out: Path,
    task: str,
    *,
    variants: Mapping[str, VariantMaker],
    options: Options | None = None,
) -> dict[str, Any]:
    """Make ``out``, whole or not at all, and return its edgeinfer.json.

    Args:
        source: a folder in Hugging Face layout, an .onnx file, a folder with PyTorch weights, or a hub id.
        out: the folder to make; its name becomes the model's name.
        task: one of :data:`TASKS`.
        variants: dtype -> how it is made from the fp32 model.
        options: the rest.

    Raises:
        UnknownNameError: for a task or dtype that does not exist.
        GraphError: when the graph or its weights are not whole, do not fit the task, or browser and native disagree.
        ManifestError: when the source lacks its configuration, tokenizer or labels.
        InputError: when there is no such source, or no browser to check with.
        OutputError: when ``out`` could not be written.
    """
    for kind, given, known in (("task", [task], TASKS), ("dtype", variants, SUFFIXES)):
        for name in given:
            if name not in known:
                raise UnknownNameError.of(kind, name, known)
    chosen = options or Options()
    if isinstance(source, Source):
        return _packed(source, out, task, variants, chosen)
    with open_source(source, task, config=chosen.config, tokenizer=chosen.tokenizer) as opened:
        return _packed(opened, out, task, variants, chosen)


def _packed(
    source: Source, out: Path, task: str, variants: Mapping[str, VariantMaker], options: Options
) -> dict[str, Any]:
    dtypes = [*(["fp32"] if options.float32 else []), *(dtype for dtype in variants if dtype != "fp32")]
    kept = _kept(source, dtypes, options)
    reference = "fp32" if "fp32" in source.graphs else next(iter(kept))
    prepare = TASKS[task]
    model = prepare(source, source.graphs[reference], task, options, optimize=reference == "fp32")
    with staged(out) as work:
        write_small_files(work, source, model.config, model.max_length, model.files)
        written: dict[str, Written] = {}
        for dtype in dtypes:
            if dtype in kept:
                other = prepare(source, kept[dtype], task, options, optimize=False)
                written[dtype] = write_variant(
                    work, dtype, other.model, _told("taken from the source", other), options.split_mb
                )
            elif dtype == "fp32":
                written[dtype] = write_variant(work, dtype, model.model, _told("float32", model), options.split_mb)
            else:
                written[dtype] = write_variant(work, dtype, *variants[dtype](model.model), options.split_mb)
        return _described(work, out.resolve().name, task, model, written, options, known=reference == "fp32")


def _described(
    work: Path,
    name: str,
    task: str,
    model: PreparedModel,
    written: Mapping[str, Written],
    options: Options,
    *,
    known: bool,
) -> dict[str, Any]:
    """Measure the variants and write edgeinfer.json."""
    warned = {dtype: replace(each, warnings=(*each.warnings, *model.warnings)) for dtype, each in written.items()}
    truth = answers(open_session(model.model), [sample.feeds for sample in model.samples])
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "task": task,
        "license": options.licence,
        "attribution": list(options.attribution),
        "labels": list(model.labels),
        "problem_type": model.problem_type,
        "max_length": model.max_length or 0,
        **model.interface(),
        "heads": head_entries(model.heads, task),
        "parameters": model.parameters if known else 0,
        "golden": [sample.to_json() for sample in model.samples],
        "variants": measured(work, warned, model.samples, truth, options.browser),
        **model.more,
    }
    with_calibration(manifest, options.calibration)
    return write_manifest(work, manifest)


def _kept(source: Source, dtypes: list[str], options: Options) -> dict[str, Path]:
    """The variants that are taken from the source: where that is asked for, or it has no fp32 to make them from.

    Raises:
        GraphError: when one that is wanted is not there, and no fp32 either.
    """
    there = {dtype: path for dtype, path in source.graphs.items() if dtype in dtypes and dtype != "fp32"}
    if "fp32" in source.graphs:
        return there if options.keep_variants else {}
    missing = [dtype for dtype in dtypes if dtype not in there]
    if missing:
        raise GraphError(
            f"{source.name} has no fp32 graph to make {', '.join(missing)} from; it has {', '.join(source.graphs)}. "
            f"Take that (--dtypes {','.join(source.graphs)}), or export the model in fp32.",
            source=source.name,
        )
    return there


def _told(what: str, model: PreparedModel) -> str:
    return ": ".join([what, "; ".join(model.notes)]) if model.notes else what
