"""Find the layers of an encoder in its graph: what the embeddings and each transformer layer hand on.

Found by structure alone: a layer begins with its attention, and what it hands on is the last normalisation before the
next attention. That holds for layers that normalise at their end (BERT), where it is the layer's own output, and for
those that normalise first, where it is the input that the next layer's attention sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx
from onnx import NodeProto, TensorProto

from edgeinfer_browser.errors import GraphError

#: Normalisation -> which of its inputs is the scale, a vector as wide as what it normalises.
NORMALIZATIONS: Mapping[str, int] = {
    "EmbedLayerNormalization": 5,
    "LayerNormalization": 1,
    "RMSNormalization": 1,
    "SimplifiedLayerNormalization": 1,
    "SkipLayerNormalization": 2,
    "SkipSimplifiedLayerNormalization": 2,
}

#: What attention is called when it is fused; when it is not, only attention has a Softmax in an encoder.
ATTENTIONS = frozenset(
    {
        "Attention",
        "DecoderMaskedMultiHeadAttention",
        "GroupQueryAttention",
        "MultiHeadAttention",
        "QAttention",
        "Softmax",
    }
)


@dataclass(frozen=True, slots=True)
class Layers:
    """Names of tensors [batch_size, sequence_length, width], the embeddings' first, the last layer's last."""

    tensors: tuple[str, ...]
    width: int


def find_layers(model: onnx.ModelProto) -> Layers:
    """The layers of a text encoder, of any dtype.

    Raises:
        GraphError: when there is no attention, or no fused normalisation, to find them by.
    """
    nodes = list(_reached_from("input_ids", model.graph))
    widths = _widths(model.graph)
    width = _usual_width(nodes, widths)
    last_of_layer: list[str | None] = [None]
    for node in nodes:
        if node.op_type in ATTENTIONS:
            last_of_layer.append(None)
        elif _width(node, widths) == width:
            last_of_layer[-1] = node.output[0]
    tensors = tuple(name for name in last_of_layer if name)
    if len(last_of_layer) < 2 or len(tensors) != len(last_of_layer):
        raise GraphError(
            "The layers of the encoder cannot be told apart: its graph has "
            f"{len(last_of_layer) - 1} attention nodes, and {len(tensors)} of the {len(last_of_layer)} parts they make "
            "of it end in a normalisation. Give the fp32 model with its layer normalisations as one "
            "node each (opset 17 or newer), or use --features sentence_embedding."
        )
    return Layers(tensors, width)


def _reached_from(name: str, graph: onnx.GraphProto) -> Iterator[NodeProto]:
    """The nodes that depend on a graph input, in the graph's (topological) order."""
    reached = {name}
    for node in graph.node:
        if reached.intersection(node.input):
            reached.update(filter(None, node.output))
            yield node


def _widths(graph: onnx.GraphProto) -> dict[str, int]:
    """The length of every constant vector."""
    constants = {node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant"}
    tensors: list[tuple[str, TensorProto]] = [(tensor.name, tensor) for tensor in graph.initializer]
    return {name: tensor.dims[0] for name, tensor in (*tensors, *constants.items()) if len(tensor.dims) == 1}


def _width(node: NodeProto, widths: Mapping[str, int]) -> int | None:
    """How wide what a normalisation gives is; None for other nodes."""
    place = NORMALIZATIONS.get(node.op_type)
    return None if place is None or place >= len(node.input) else widths.get(node.input[place])


def _usual_width(nodes: list[NodeProto], widths: Mapping[str, int]) -> int:
    """The width that most normalisations have, 0 without any; those of queries and keys are as wide as one head."""
    found = Counter(filter(None, (_width(node, widths) for node in nodes)))
    return max(found, key=lambda width: (found[width], width), default=0)
