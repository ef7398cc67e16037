"""What a JSON Schema cannot say: the parts of ``edgeinfer.json`` must fit each other.

Each rule takes a manifest that the schema accepts and gives the first contradiction, or None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from edgeinfer_browser.manifest.revision import revision_of

Source = Mapping[str, Any]


def contradiction(source: Source) -> str | None:
    """The first rule's that is broken; None when the parts fit."""
    return next(filter(None, (rule(source) for rule in RULES)), None)


def _revision(source: Source) -> str | None:
    actual = revision_of(source)
    if source["revision"] == actual:
        return None
    return f"revision is {source['revision'][:12]}..., but the rest of the file gives {actual[:12]}...: it was changed"


def _inputs(source: Source) -> str | None:
    names = [entry["name"] for entry in source["inputs"]]
    if twice := _twice(names):
        return f"inputs has {twice!r} twice"
    for index, sample in enumerate(source["golden"]):
        if set(sample["inputs"]) != set(names):
            return f"golden[{index}] feeds {', '.join(sample['inputs'])}, but the inputs are {', '.join(names)}"
    return None


def _outputs(source: Source) -> str | None:
    names = [entry["name"] for entry in source.get("outputs", ())]
    if twice := _twice(names):
        return f"outputs has {twice!r} twice"
    unknown = [name for _, name, _ in _golden_outputs(source) if name not in names] if names else []
    return f"the golden output {unknown[0]!r} is none of the outputs {', '.join(names)}" if unknown else None


def _golden(source: Source) -> str | None:
    samples = len(source["golden"])
    for dtype, variant in source["variants"].items():
        if len(variant["golden"]) != samples:
            return f"variants.{dtype} has {len(variant['golden'])} golden outputs for {samples} golden samples"
    return None


def _heads(source: Source) -> str | None:
    heads = source.get("heads", ())
    if twice := _twice(head["name"] for head in heads) or _twice(head["output"] for head in heads):
        return f"heads has {twice!r} twice"
    outputs = [entry["name"] for entry in source.get("outputs", ())]
    missing = [head for head in heads if outputs and head["output"] not in outputs]
    return f"head {missing[0]['name']!r} reads {missing[0]['output']!r}, which is no output" if missing else None


def _labels(source: Source) -> str | None:
    counts = {head["output"]: len(head["labels"]) for head in source.get("heads", ())}
    if source["labels"]:
        counts.setdefault("logits", len(source["labels"]))
    declared = [("outputs", entry["name"], entry.get("dims", ())) for entry in source.get("outputs", ())]
    for where, name, dims in (*declared, *_golden_outputs(source)):
        width = dims[-1] if dims else None
        if name in counts and not isinstance(width, str | None) and width != counts[name]:
            return f"{where}: {name!r} is {width} wide, but has {counts[name]} labels"
    return None


def _files(source: Source) -> str | None:
    known: dict[str, tuple[Any, Any]] = {path: _facts(entry) for path, entry in source["files"].items()}
    for dtype, variant in source["variants"].items():
        files = variant["files"]
        if twice := _twice(file["path"] for file in files):
            return f"variants.{dtype}.files has {twice!r} twice"
        if not files[0]["path"].endswith(".onnx"):
            return f"variants.{dtype}.files begins with {files[0]['path']!r}, which is no .onnx file"
        for file in files:
            if known.setdefault(file["path"], _facts(file)) != _facts(file):
                return f"variants.{dtype}.files: {file['path']!r} is listed elsewhere with other bytes or sha256"
    return None


RULES: tuple[Callable[[Source], str | None], ...] = (_revision, _inputs, _outputs, _golden, _heads, _labels, _files)


def _golden_outputs(source: Source) -> Iterator[tuple[str, str, list[int]]]:
    """(place, output, dims) of every golden output."""
    for dtype, variant in source["variants"].items():
        for index, outputs in enumerate(variant["golden"]):
            for name, tensor in outputs.items():
                yield f"variants.{dtype}.golden[{index}]", name, tensor["dims"]


def _facts(file: Mapping[str, Any]) -> tuple[Any, Any]:
    return file["bytes"], file["sha256"]


def _twice(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
