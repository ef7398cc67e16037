"""The inputs of a text model: the names and shapes that a text gives."""

from __future__ import annotations

import onnx
from onnx import TensorProto

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.packing.trials import Dims, Trial, dims_of_trials

#: What a tokenizer gives, each int64 [batch_size, sequence_length].
TEXT_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
AXES = ("batch_size", "sequence_length")


def check_text_inputs(model: onnx.ModelProto, name: str) -> None:
    """The inputs are those that a text gives, of any batch and length; their axes get the conventional names.

    Raises:
        GraphError: names the input and what is wrong with it.
    """
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    for value in inputs:
        problem = _problem(value)
        if problem:
            raise GraphError(f"{name}: {problem}", input=value.name)
        for dim, axis in zip(value.type.tensor_type.shape.dim, AXES, strict=True):
            dim.dim_param = axis
    if "input_ids" not in {value.name for value in inputs}:
        names = ", ".join(value.name for value in inputs) or "none"
        raise GraphError(f"{name} has no input input_ids (its inputs: {names}), so it is not a model of texts.")
    for value in model.graph.value_info:
        value.type.tensor_type.ClearField("shape")  # it may name the axes as they were


def _problem(value: onnx.ValueInfoProto) -> str | None:
    kind, dims = value.type.tensor_type, value.type.tensor_type.shape.dim
    shape = [dim.dim_param or dim.dim_value for dim in dims]
    if value.name not in TEXT_INPUTS:
        return (
            f"it wants the input {value.name!r}; a text gives {', '.join(TEXT_INPUTS)}. Export it without that input."
        )
    if kind.elem_type != TensorProto.INT64:
        given = TensorProto.DataType.Name(kind.elem_type).lower()
        return f"its input {value.name!r} is {given}, and token ids are int64. Export it with int64 inputs."
    if len(dims) != 2:
        return f"its input {value.name!r} has {len(dims)} dims, {shape}; a text is [batch_size, sequence_length]."
    fixed = [f"a fixed {axis} of {dim.dim_value}" for axis, dim in zip(AXES, dims, strict=True) if dim.dim_value]
    if fixed:
        return (
            f"its input {value.name!r} has {' and '.join(fixed)}, and texts have any length. Export it again with "
            "dynamic axes (torch.onnx.export: dynamic_axes; optimum does so by default)."
        )
    return None


def output_dims(model: onnx.ModelProto, name: str) -> dict[str, Dims]:
    """The dims of each output of a text model, found by running one text and two.

    Raises:
        GraphError: when it does not run with both, or an output's dims follow neither.
    """
    return dims_of_trials(model, name, [Trial.of_tokens(1, 3), Trial.of_tokens(2, 7)])
