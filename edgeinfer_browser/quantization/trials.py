"""Candidates, made and measured one by one on the same calibration feeds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from onnx import numpy_helper

from edgeinfer_browser.packing.files import save
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.quantization.calibration import Feeds
from edgeinfer_browser.quantization.channels import channel_magnitudes
from edgeinfer_browser.quantization.closeness import closeness
from edgeinfer_browser.quantization.found_recipe import FoundRecipe, apply_recipe
from edgeinfer_browser.quantization.left_out import left_out
from edgeinfer_browser.quantization.matrices import Floats, Matrix, find_matrices, initializers, with_matmuls
from edgeinfer_browser.quantization.search_log import Log, Trial
from edgeinfer_browser.quantization.slowdown import CHANNEL, FLOAT_MATMUL

#: Short texts gain nothing from more threads, which wait for each other; and answers are the same on any machine.
THREADS = 1


class Trials:
    """The model of a search, what fp32 answers, what its matrices see; and the log of what was tried."""

    def __init__(self, model: onnx.ModelProto, feeds: Sequence[Feeds], log: Log) -> None:
        self.model = model
        self.tried: list[Trial] = []
        self._feeds, self._log = feeds, log
        self._reference = answers(open_session(model, THREADS), feeds)
        matmuls = with_matmuls(model)
        self.matrices: dict[str, Matrix] = {matrix.digest: matrix for matrix in find_matrices(matmuls)}
        #: Sentences on the matrices that are not in ``matrices``.
        self.left_out = left_out(matmuls, self.matrices)
        self._weights = initializers(matmuls)
        inputs = list(dict.fromkeys(matrix.input for matrix in self.matrices.values()))
        #: Name of a tensor that matrices read -> the largest |x| of each of its channels.
        self.magnitudes = channel_magnitudes(matmuls, inputs, feeds)

    def weight(self, matrix: Matrix) -> Floats:
        """The float32 values of a matrix, [rows, columns]."""
        values: Floats = numpy_helper.to_array(self._weights[matrix.weight])
        return values

    def measure(self, what: str, recipe: FoundRecipe) -> Trial:
        """Make the candidate and measure it; :meth:`record` it once it is decided whether it is kept."""
        return self.measure_model(what, apply_recipe(self.model, recipe), self.estimated_slowdown(recipe))

    def measure_model(self, what: str, made: onnx.ModelProto, slowdown: float) -> Trial:
        """Measure a variant that is there already."""
        close = closeness(self._reference, answers(open_session(made, THREADS), self._feeds))
        return Trial(
            what,
            file_mb(made),
            close.mean,
            close.worst,
            slowdown,
            same_label=close.same_label,
            largest_score_change=close.largest_score_change,
        )

    def record(self, trial: Trial, kept: bool, why: str) -> Trial:
        """Write a trial to the log, with what became of it."""
        decided = replace(trial, kept=kept, why=why)
        self.tried.append(decided)
        self._log(decided)
        return decided

    def estimated_slowdown(self, recipe: FoundRecipe) -> float:
        """Time as a multiple of plain int8's, as if products of matrices and what the recipe adds were all there is."""
        plain = sum(map(size, self.matrices.values()))
        more = sum(size(self.matrices[digest]) * (FLOAT_MATMUL - 1) for digest in recipe.keep)
        for step in recipe.channels:
            readers = [self.matrices[digest] for digest in step.matrices]
            more += readers[0].rows * CHANNEL
            more += sum(len(step.outliers) * (each.columns * FLOAT_MATMUL + CHANNEL) for each in readers)
        return 1 + more / plain if plain else 1.0


def size(matrix: Matrix) -> int:
    """Multiplications for each token, and weights."""
    return matrix.rows * matrix.columns


def total(matrices: Iterable[Matrix]) -> int:
    """Multiplications of all of them for each token."""
    return sum(map(size, matrices))


def file_mb(model: onnx.ModelProto) -> float:
    """Megabytes (1e6 bytes) of the files that a model is saved as."""
    with tempfile.TemporaryDirectory() as folder:
        return sum(path.stat().st_size for path in save(model, Path(folder) / "model.onnx")) / 1e6
