"""Join the MiniLM encoder and the sentiment head into one ONNX graph, from token ids to logits.

The head is linear. It reads the mean over the text's tokens of what *every* layer says, the word embeddings
included: the last layer alone was trained to tell topics apart and has lost part of the feeling. ::

    input_ids, attention_mask, token_type_ids  int64 [batch, sequence]
    logits                                     float32 [batch, 2], negative and positive
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

Floats = npt.NDArray[np.float32]

LAYERS = (
    "/model/layers.-1/embeddings_norm_layernorm/output_0",
    *(f"/model/layers.{layer}/mlp_output_norm_layernorm/output_0" for layer in range(6)),
)
WIDTH = 384
HEAD_SCOPE = "/sentiment/"  # every node and tensor added here is named below it
_AXES = {0: "batch_size", 1: "sequence_length"}


@dataclass(frozen=True)
class Head:
    """``score = sigmoid(features @ weights + bias)`` with features as :data:`LAYERS` are ordered."""

    weights: Floats
    bias: float

    @classmethod
    def read(cls, path: Path) -> Head:
        """Read ``head.json``."""
        fields = json.loads(path.read_text(encoding="utf-8"))
        weights = np.array(fields["weights"], np.float32).reshape(-1)
        if weights.size != len(LAYERS) * WIDTH:
            raise ValueError(f"{path} has {weights.size} weights, expected {len(LAYERS)} x {WIDTH}")
        return cls(weights, float(fields["bias"]))

    def logits_layer(self) -> tuple[Floats, Floats]:
        """The same head with two outputs, -z/2 and z/2, whose softmax is the sigmoid of z."""
        halves = np.array([-0.5, 0.5], np.float32)
        return self.weights[:, None] * halves, np.float32(self.bias) * halves


def pooled_features(encoder: onnx.ModelProto) -> onnx.ModelProto:
    """The encoder, of any dtype, with one float32 output, ``features``: the masked mean of each layer."""
    model = _without_output(encoder)
    half = any(tensor.data_type == TensorProto.FLOAT16 for tensor in encoder.graph.initializer)
    model.graph.initializer.append(_tensor("one", np.array(1.0, np.float32)))
    model.graph.initializer.append(_tensor("axis_1", np.array([1], np.int64)))
    model.graph.node.extend(_pooling_nodes(half))
    model.graph.output.append(_output("features", len(LAYERS) * WIDTH))
    return model


def join(encoder: onnx.ModelProto, head: Head) -> onnx.ModelProto:
    """The whole classifier; the encoder may be converted already, the head stays float32."""
    model = pooled_features(encoder)
    weights, bias = head.logits_layer()
    model.graph.initializer.extend([_tensor("weights", weights), _tensor("bias", bias)])
    model.graph.node.append(_node("MatMul", ["features", HEAD_SCOPE + "weights"], HEAD_SCOPE + "product"))
    model.graph.node.append(_node("Add", [HEAD_SCOPE + "product", HEAD_SCOPE + "bias"], "logits"))
    del model.graph.output[:]
    model.graph.output.append(_output("logits", 2))
    return model


def _pooling_nodes(half: bool) -> list[NodeProto]:
    """Weights that are 1/length on the text and 0 on the padding, times each layer's output.

    ``shares [batch, 1, sequence] @ hidden [batch, sequence, width]`` is the masked mean. Sums and head are
    always float32: they cost next to nothing, and float16 would move the logits.
    """
    s = HEAD_SCOPE
    nodes = [
        _node("Cast", ["attention_mask"], s + "mask", to=TensorProto.FLOAT),
        _node("ReduceSum", [s + "mask", s + "axis_1"], s + "length", keepdims=1),
        _node("Max", [s + "length", s + "one"], s + "divisor"),  # an empty mask gives 0, not NaN
        _node("Div", [s + "mask", s + "divisor"], s + "share"),
        _node("Unsqueeze", [s + "share", s + "axis_1"], s + "shares"),
    ]
    means = [f"{s}mean_{number}" for number in range(len(LAYERS))]
    for layer, mean in zip(LAYERS, means, strict=True):
        if half:
            nodes.append(_node("Cast", [layer], f"{mean}_input", to=TensorProto.FLOAT))
        nodes.append(_node("MatMul", [s + "shares", f"{mean}_input" if half else layer], mean))
    nodes.append(_node("Concat", means, s + "means", axis=2))
    nodes.append(_node("Squeeze", [s + "means", s + "axis_1"], "features"))
    return nodes


def _without_output(encoder: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that ends at the last layer, with axis names that say the mask is as long as the ids."""
    model = onnx.ModelProto()
    model.CopyFrom(encoder)
    graph = model.graph
    nodes = [node for node in graph.node if "last_hidden_state" not in node.output]
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    for value in graph.input:
        for axis, name in _AXES.items():
            value.type.tensor_type.shape.dim[axis].dim_param = name
    graph.name = "sentiment"
    return model


def _node(kind: str, inputs: list[str], output: str, **attributes: int) -> NodeProto:
    name = output if output.startswith(HEAD_SCOPE) else HEAD_SCOPE + output
    node = helper.make_node(kind, inputs, [output], name=name)
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return node


def _tensor(name: str, values: npt.NDArray[np.generic]) -> TensorProto:
    return numpy_helper.from_array(values, HEAD_SCOPE + name)


def _output(name: str, width: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch_size", width])
