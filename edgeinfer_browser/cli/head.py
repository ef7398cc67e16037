"""Train a small classifier (a head) on a shared encoder from texts and labels.

DATA is a CSV, TSV or JSONL file with a text and a label in each row; a few dozen texts of each label and up. In JSONL a
label may be a list: then a text has any number of them. The head's file is joined to the encoder by
`edgeinfer pack --head FILE`. Its accuracy is cross-validated: measured on texts that it was not trained on.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from edgeinfer_browser.packing.head_file import FEATURES, Head
from edgeinfer_browser.packing.head_training import train_head, write_head
from edgeinfer_browser.packing.labelled import LabelledTexts, read_labelled
from edgeinfer_browser.packing.options import Options
from edgeinfer_browser.packing.pooling import POOLINGS
from edgeinfer_browser.packing.source import open_source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    fit = parser.add_subparsers(dest="action", required=True, metavar="fit").add_parser(
        "fit", help="train a head", description=__doc__
    )
    fit.add_argument("data", type=Path, metavar="DATA", help="texts and labels: .csv, .tsv or .jsonl")
    fit.add_argument(
        "--encoder", required=True, metavar="SOURCE", help="folder in Hugging Face layout, .onnx or hub id"
    )
    fit.add_argument("--out", required=True, type=Path, metavar="FILE", help="the head's file, e.g. head.json")
    fit.add_argument(
        "--features",
        choices=FEATURES,
        default="every_layer",
        help="what the head reads: the mean of every layer (default), or the embedding alone",
    )
    fit.add_argument("--name", help="the head's name (default: that of the data file)")
    fit.add_argument("--text", default="text", metavar="COLUMN", help="column or key of the text (default: text)")
    fit.add_argument("--label", default="label", metavar="COLUMN", help="column or key of the label (default: label)")
    fit.add_argument("--group", metavar="COLUMN", help="column or key of the document, which is never in two folds")
    fit.add_argument("--folds", type=int, default=5, help="parts of the cross-validation (default: 5)")
    _add_encoder(fit)


def _add_encoder(fit: argparse.ArgumentParser) -> None:
    """What says how the encoder is read; give it to pack too."""
    fit.add_argument("--max-length", type=int, metavar="N", help="most tokens of a text (default: the source's)")
    fit.add_argument("--pooling", choices=POOLINGS, help="of an embedding (default: the source's, else mean)")
    norm = fit.add_mutually_exclusive_group()
    norm.add_argument("--normalize", action="store_true", default=None, help="L2-normalise embeddings (the default)")
    norm.add_argument("--no-normalize", action="store_false", dest="normalize", help="leave embeddings as they are")
    fit.add_argument("--config", type=Path, metavar="FILE", help="a config.json in the place of the source's")
    fit.add_argument("--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json in the place of the source's")


def main(arguments: argparse.Namespace) -> int:
    """Train, write, and say how good it is."""
    data = read_labelled(arguments.data, arguments.text, arguments.label, arguments.group)
    print(_described(data))
    options = Options(
        pooling=arguments.pooling, normalize=arguments.normalize, max_length=arguments.max_length, browser=None
    )
    files = {"config": arguments.config, "tokenizer": arguments.tokenizer}
    with open_source(arguments.encoder, "feature-extraction", **files) as source:
        head = train_head(
            source,
            data,
            name=arguments.name or arguments.data.stem,
            kind=arguments.features,
            options=options,
            folds=arguments.folds,
            log=_log,
        )
    size = write_head(head, arguments.out)
    print(_told(head, grouped=data.groups is not None))
    print(f"{arguments.out}: {size / 1000:.1f} kB, {head.features}, {head.weights.shape[1]} features")
    return 0


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _described(data: LabelledTexts) -> str:
    counts = Counter(label for labels in data.labels for label in labels)
    most = ", ".join(f"{label} {count}" for label, count in counts.most_common(8))
    more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
    return f"{len(data.texts)} texts; {len(counts)} labels: {most}{more}"


def _told(head: Head, *, grouped: bool) -> str:
    known = head.accuracy
    how = f"{known['folds']}-fold cross-validation" + (", no document in two folds" if grouped else "")
    line = (
        f"accuracy {known['cross_validated']:.1%} +- {known['spread']:.1%} ({how}); "
        f"always the most frequent answer: {known['majority']:.1%}"
    )
    if known["cross_validated"] - known["spread"] > known["majority"]:
        return line
    return (
        f"{line}\nwarning: no better than that. More texts, or clearer labels, are needed before this head is of use."
    )
