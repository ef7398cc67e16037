"""The output that a task wants: which tensor of the graph it is, and the graph with that output alone."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto, helper

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.packing.operators import rename
from edgeinfer_browser.packing.trials import Dims

#: Names that exporters give to what the model says of each token, best first.
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings", "hidden_states")
LOGITS = "logits"

#: A last operator that turns logits to scores -> the problem_type that it tells of.
SCORES = {"Softmax": "single_label_classification", "Sigmoid": "multi_label_classification"}


def token_output(dims: Mapping[str, Dims], name: str) -> tuple[str, int]:
    """The output [batch_size, sequence_length, width] and its width.

    Raises:
        GraphError: when there is none, or more than one without a name that tells.
    """
    found = find_token_output(dims)
    if found is None:
        raise GraphError(
            f"{name} has no output [batch_size, sequence_length, width], which feature-extraction pools "
            f"({_listed(dims)}). Export the encoder with last_hidden_state."
        )
    return found


def find_token_output(dims: Mapping[str, Dims]) -> tuple[str, int] | None:
    """The same, or None."""
    fits = {
        output: shape[2]
        for output, shape in dims.items()
        if len(shape) == 3 and shape[:2] == ("batch_size", "sequence_length")
    }
    best = next((output for output in TOKEN_OUTPUTS if output in fits), next(iter(fits)) if len(fits) == 1 else "")
    width = fits.get(best)
    return (best, width) if isinstance(width, int) else None


def vector_output(dims: Mapping[str, Dims], wanted: str) -> tuple[str, int] | None:
    """The output [batch_size, width] named ``wanted`` and its width, if there is one."""
    shape = dims.get(wanted, ())
    return (
        (wanted, int(shape[1])) if len(shape) == 2 and shape[0] == "batch_size" and isinstance(shape[1], int) else None
    )


def logits_output(dims: Mapping[str, Dims], name: str) -> tuple[str, int]:
    """The output [batch_size, labels] and how many labels there are.

    Raises:
        GraphError: when there is none, or more than one and none is called logits.
    """
    fits = [found for output in dims if (found := vector_output(dims, output))]
    named = vector_output(dims, LOGITS)
    if named is None and len(fits) != 1:
        raise GraphError(
            f"{name} has {'no' if not fits else 'more than one'} output [batch_size, labels] that could be the logits "
            f"({_listed(dims)}). Export it for classification, or join a head to an encoder (--head)."
        )
    return named or fits[0]


def with_single_output(model: onnx.ModelProto, tensor: str, output: str, dims: Dims) -> onnx.ModelProto:
    """A copy whose only output is ``tensor``, under the name ``output``, float32."""
    made = with_first_output(model, tensor, output, dims)
    del made.graph.output[1:]
    return made


def with_first_output(model: onnx.ModelProto, tensor: str, output: str, dims: Dims) -> onnx.ModelProto:
    """A copy whose first output is ``tensor``, under the name ``output``, float32; the others follow as they are."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kind = next((value.type.tensor_type.elem_type for value in model.graph.output if value.name == tensor), None)
    rename(made.graph, tensor, output)
    if kind not in (None, TensorProto.FLOAT):
        uncast = f"{output}_uncast"
        rename(made.graph, output, uncast)
        made.graph.node.append(
            helper.make_node("Cast", [uncast], [output], name=f"{output}_cast", to=TensorProto.FLOAT)
        )
    others = [value for value in made.graph.output if value.name not in (tensor, output)]
    del made.graph.output[:]
    made.graph.output.extend([helper.make_tensor_value_info(output, TensorProto.FLOAT, dims), *others])
    return made


def before_scores(model: onnx.ModelProto, output: str) -> tuple[str, str] | None:
    """The logits behind an output that is scores, and the operator that makes them; None when it is logits already."""
    maker = next((node for node in model.graph.node if output in node.output), None)
    while maker is not None and maker.op_type in ("Identity", "Cast"):
        maker = next((node for node in model.graph.node if maker.input[0] in node.output), None)
    return (maker.input[0], maker.op_type) if maker is not None and maker.op_type in SCORES else None


def _listed(dims: Mapping[str, Dims]) -> str:
    return "its outputs: " + "; ".join(f"{name} {list(shape)}" for name, shape in dims.items())
