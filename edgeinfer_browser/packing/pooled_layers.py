"""Put what a head reads into an encoder's graph: the masked mean of every layer, or the embedding that is there.

The last layer alone was trained for the encoder's own task; the earlier ones keep what it has given up (how a text
feels, say, where topics were what counted). Sums are float32 on any encoder: they cost next to nothing.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.utils import Extractor

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.manifest import EMBEDDING
from edgeinfer_browser.packing.head_file import Features
from edgeinfer_browser.packing.layers import find_layers

#: Every node and weight of heads, and of what they read, is named below it.
HEAD_SCOPE = "/heads/"

_MASK = "attention_mask"


def features_model(encoder: onnx.ModelProto, features: Features) -> onnx.ModelProto:
    """A copy of the encoder with one output, ``features`` float32 [batch_size, width or layers x width].

    Raises:
        GraphError: when it has not what the features are made of.
    """
    model = onnx.ModelProto()
    model.CopyFrom(encoder)
    name, width = add_features(model, features)
    model.graph.node.append(helper.make_node("Identity", [name], ["features"], name=f"{HEAD_SCOPE}Identity"))
    return with_outputs(model, [vector_output("features", width)])


def add_features(model: onnx.ModelProto, features: Features) -> tuple[str, int]:
    """Add the nodes to ``model``; the name of the float32 tensor [batch_size, n] and n (0 when not known).

    Raises:
        GraphError: when the model has not what the features are made of.
    """
    if features == "sentence_embedding":
        return _embedding(model)
    return _mean_of_each_layer(model)


def with_outputs(model: onnx.ModelProto, outputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """A copy that has these outputs, and only the nodes and weights that they need; the inputs stay."""
    known = {value.name for value in outputs}
    kept = [value for value in model.graph.output if value.name not in known]
    del model.graph.output[:]
    model.graph.output.extend([*kept, *outputs])
    inputs = [value.name for value in model.graph.input]
    extracted: onnx.ModelProto = Extractor(model).extract_model(inputs, [value.name for value in outputs])
    extracted.graph.name = model.graph.name
    return extracted


def vector_output(name: str, width: int) -> onnx.ValueInfoProto:
    """A float32 output [batch_size, width]; a width of 0 is not known."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch_size", width or None])


def _embedding(model: onnx.ModelProto) -> tuple[str, int]:
    output = next((value for value in model.graph.output if value.name == EMBEDDING), None)
    if output is None:
        has = ", ".join(value.name for value in model.graph.output)
        raise GraphError(
            f"The head reads {EMBEDDING!r}, which the encoder does not give (it gives {has}). Pool it first."
        )
    kind = output.type.tensor_type
    width = kind.shape.dim[-1].dim_value
    if kind.elem_type == TensorProto.FLOAT:
        return EMBEDDING, width
    model.graph.node.append(_node("Cast", [EMBEDDING], "embedding", to=TensorProto.FLOAT))
    return f"{HEAD_SCOPE}embedding", width


def _mean_of_each_layer(model: onnx.ModelProto) -> tuple[str, int]:
    """``shares [batch, 1, sequence] @ layer [batch, sequence, width]``: 1/length on the text, 0 on the padding."""
    layers = find_layers(model)
    graph, scope = model.graph, HEAD_SCOPE
    if _MASK not in {value.name for value in graph.input}:
        raise GraphError(f"The encoder has no input {_MASK!r}, so padding could not be told from text.")
    graph.initializer.append(numpy_helper.from_array(np.array(1.0, np.float32), f"{scope}one"))
    graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), f"{scope}axis"))
    graph.node.extend(
        [
            _node("Cast", [_MASK], "mask", to=TensorProto.FLOAT),
            _node("ReduceSum", [f"{scope}mask", f"{scope}axis"], "length", keepdims=1),
            _node("Max", [f"{scope}length", f"{scope}one"], "divisor"),  # an empty mask gives 0, not NaN
            _node("Div", [f"{scope}mask", f"{scope}divisor"], "share"),
            _node("Unsqueeze", [f"{scope}share", f"{scope}axis"], "shares"),
        ]
    )
    means = [_mean(model, layer, index) for index, layer in enumerate(layers.tensors)]
    graph.node.append(_node("Concat", means, "means", axis=2))
    graph.node.append(_node("Squeeze", [f"{scope}means", f"{scope}axis"], "every_layer"))
    return f"{scope}every_layer", len(means) * layers.width


def _mean(model: onnx.ModelProto, layer: str, index: int) -> str:
    # Casting what is float32 already costs nothing: ONNX Runtime drops it. In a mixed graph nobody need find out which.
    model.graph.node.append(_node("Cast", [layer], f"layer_{index}", to=TensorProto.FLOAT))
    model.graph.node.append(_node("MatMul", [f"{HEAD_SCOPE}shares", f"{HEAD_SCOPE}layer_{index}"], f"mean_{index}"))
    return f"{HEAD_SCOPE}mean_{index}"


def _node(kind: str, inputs: list[str], output: str, **attributes: int) -> NodeProto:
    name = HEAD_SCOPE + output
    node = helper.make_node(kind, inputs, [name], name=name)
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return node
