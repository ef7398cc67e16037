"""A graph made fit for its task, with what edgeinfer.json says of it: what the preparations give and pack() writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper, version_converter

from edgeinfer_browser.errors import EdgeInferError, GraphError
from edgeinfer_browser.packing.differences import Answers, require_finite_answers
from edgeinfer_browser.packing.graph_file import load_graph
from edgeinfer_browser.packing.head_file import Head
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.operators import check_operators
from edgeinfer_browser.packing.samples import Sample

#: The first opset whose ReduceSum, Squeeze and Unsqueeze take their axes as an input, as what is added here does.
OLDEST_OPSET = 13
#: What older graphs are converted to.
NEW_OPSET = 17


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A model with the inputs and outputs of its task."""

    model: onnx.ModelProto
    config: Mapping[str, Any]
    samples: Sequence[Sample]
    #: What was done to the graph, in words, in order.
    notes: Sequence[str]
    #: Of a text in tokens; None for a model that takes no text.
    max_length: int | None
    labels: Sequence[str] = ()
    problem_type: str = ""
    heads: Sequence[Head] = ()
    warnings: Sequence[str] = ()
    #: Files of the source that go with it, where the source has them.
    files: Sequence[str] = ()
    #: More keys of edgeinfer.json.
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> int:
        """How many float weights there are."""
        floats = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
        return sum(math.prod(t.dims) for t in self.model.graph.initializer if t.data_type in floats)

    def interface(self) -> dict[str, Any]:
        """Inputs and outputs as ``{name, dtype, dims}``; a dynamic dim is its name."""
        graph = self.model.graph
        return {"inputs": [_value(v) for v in graph.input], "outputs": [_value(v) for v in graph.output]}


def read_model(path: Path) -> onnx.ModelProto:
    """A graph from its file, checked, of a recent opset.

    Raises:
        GraphError: when the file is not whole, or ONNX Runtime lacks its operators.
    """
    model = load_graph(path)
    check_operators(model, str(path))
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset >= OLDEST_OPSET:
        return model
    try:
        converted: onnx.ModelProto = version_converter.convert_version(model, NEW_OPSET)
    except (RuntimeError, ValueError) as error:
        raise GraphError(
            f"{path} is of opset {opset}, and could not be converted to {NEW_OPSET}: {error}. Export it with opset "
            f"{OLDEST_OPSET} or newer.",
            path=str(path),
        ) from error
    return converted


def first_answers(model: onnx.ModelProto, samples: Sequence[Sample], name: str) -> Answers:
    """What a graph answers to the golden samples before anything is done to it.

    Raises:
        GraphError: when it does not run, or its answers are not finite.
    """
    found = []
    session = open_session(model)
    for sample in samples:
        try:
            found += answers(session, [sample.feeds])
        except EdgeInferError as error:
            shapes = ", ".join(f"{input_} {list(array.shape)}" for input_, array in sample.feeds.items())
            raise GraphError(
                f"{name} does not run on a golden sample ({shapes}): {error} If it takes no text that long, say so "
                "with --max-length."
            ) from error
    require_finite_answers(found, name)
    return found


def _value(info: onnx.ValueInfoProto) -> dict[str, Any]:
    kind = info.type.tensor_type
    dims = [dim.dim_param or dim.dim_value for dim in kind.shape.dim]
    return {"name": info.name, "dtype": helper.tensor_dtype_to_np_dtype(kind.elem_type).name, "dims": dims}
