"""Join heads to a shared encoder: one download and one run give the embedding and every head's logits.

The heads' part of the graph is float32 and works on any encoder, converted to another dtype or not yet: join before a
variant is made or after. Its nodes are named below :data:`HEAD_SCOPE`. A head is a sum of products (Mul, ReduceSum)
instead of a MatMul, so quantizers pass over it: a few kB gain nothing from int8, and logits would lose by it. A
converter to float16 should be told to leave the scope as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgeinfer_browser.errors import GraphError, InputError
from edgeinfer_browser.manifest import EMBEDDING, TOKEN_VECTORS
from edgeinfer_browser.packing.head_file import TASK, Features, Head, encoder_digest
from edgeinfer_browser.packing.pooled_layers import HEAD_SCOPE, add_features, vector_output, with_outputs

__all__ = ["HEAD_SCOPE", "head_entries", "head_output", "join_heads"]

#: The first opset in which ReduceSum, Squeeze and Unsqueeze take their axes as an input.
_OPSET = 13


def join_heads(model: onnx.ModelProto, heads: Sequence[Head], task: str) -> onnx.ModelProto:
    """A copy of the encoder with the heads' outputs, and without what only its old outputs needed.

    Args:
        model: an encoder with the input ``attention_mask``; with an output ``sentence_embedding`` [batch_size, width],
            unless it is to be a single classifier that reads every layer. External data must be loaded.
        heads: one or more.
        task: ``text-classification`` with a single head gives one output, ``logits`` [batch_size, labels]; anything
            else gives ``sentence_embedding``, ``<name>_logits`` for each head, and ``last_hidden_state`` where the
            encoder gives it.

    Raises:
        InputError: when two heads have one name, or a head does not fit the encoder: width, layers, other weights.
        GraphError: when the encoder lacks what the heads read.
    """
    _require_names(heads)
    _require_opset(model)
    joined = onnx.ModelProto()
    joined.CopyFrom(model)
    joined.graph.initializer.append(numpy_helper.from_array(np.array([-1], np.int64), f"{HEAD_SCOPE}last_axis"))
    joined.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), f"{HEAD_SCOPE}label_axis"))
    digest, outputs = encoder_digest(model), _shared_outputs(model, heads, task)
    read: dict[Features, tuple[str, int]] = {}
    for head in heads:
        if head.features not in read:
            read[head.features] = add_features(joined, head.features)
        _require_fit(head, read[head.features][1], digest)
        outputs.append(_add_head(joined.graph, head, read[head.features][0], head_output(head, heads, task)))
    return with_outputs(joined, [*outputs, *_token_vectors(model, heads, task)])


def head_output(head: Head, heads: Sequence[Head], task: str) -> str:
    """The name of a head's output in the joined graph."""
    return "logits" if _is_single(heads, task) else f"{head.name}_logits"


def head_entries(heads: Sequence[Head], task: str) -> list[dict[str, Any]]:
    """What edgeinfer.json says of the heads: ``{name, output, labels, problem_type, accuracy}`` of each."""
    return [
        {
            "name": head.name,
            "output": head_output(head, heads, task),
            "labels": list(head.labels),
            "problem_type": head.problem_type,
            "accuracy": dict(head.accuracy),
        }
        for head in heads
    ]


def _is_single(heads: Sequence[Head], task: str) -> bool:
    return task == TASK and len(heads) == 1


def _shared_outputs(model: onnx.ModelProto, heads: Sequence[Head], task: str) -> list[onnx.ValueInfoProto]:
    if _is_single(heads, task):
        return []
    found = [value for value in model.graph.output if value.name == EMBEDDING]
    if not found:
        has = ", ".join(value.name for value in model.graph.output)
        raise GraphError(
            f"An encoder that is shared by heads gives {EMBEDDING!r} too; this one gives {has}. Pool it first."
        )
    return found


def _token_vectors(model: onnx.ModelProto, heads: Sequence[Head], task: str) -> list[onnx.ValueInfoProto]:
    return [value for value in model.graph.output if value.name == TOKEN_VECTORS and not _is_single(heads, task)]


def _add_head(graph: onnx.GraphProto, head: Head, features: str, output: str) -> onnx.ValueInfoProto:
    """``sum over n of features [batch, 1, n] * weights [labels, n]``, plus the bias: [batch, labels]."""
    scope = f"{HEAD_SCOPE}{head.name}/"
    graph.initializer.append(numpy_helper.from_array(head.weights, f"{scope}weights"))
    graph.initializer.append(numpy_helper.from_array(head.bias, f"{scope}bias"))
    steps = [
        ("Unsqueeze", [features, f"{HEAD_SCOPE}label_axis"], f"{scope}row"),
        ("Mul", [f"{scope}row", f"{scope}weights"], f"{scope}products"),
        ("ReduceSum", [f"{scope}products", f"{HEAD_SCOPE}last_axis"], f"{scope}sums"),
        ("Add", [f"{scope}sums", f"{scope}bias"], output),
    ]
    for kind, inputs, result in steps:
        graph.node.append(helper.make_node(kind, inputs, [result], name=f"{scope}{kind}"))
    graph.node[-2].attribute.append(helper.make_attribute("keepdims", 0))
    return vector_output(output, len(head.labels))


def _require_names(heads: Sequence[Head]) -> None:
    names = [head.name for head in heads]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not heads or twice:
        what = (
            f"Two heads are named {twice[0]!r}: their outputs would be one." if twice else "There is no head to join."
        )
        raise InputError(f"{what} Give each head a name of its own (edgeinfer head fit --name).", names=names)


def _require_opset(model: onnx.ModelProto) -> None:
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < _OPSET:
        raise GraphError(
            f"The encoder is of opset {opset}; a head needs {_OPSET} or newer. Export it again.", opset=opset
        )


def _require_fit(head: Head, width: int, digest: str) -> None:
    wanted = head.weights.shape[1]
    if width and width != wanted:
        raise InputError(
            f"Head {head.name!r} has {wanted} weights a label for {head.features}, the encoder gives {width} values. "
            "Fit it on this encoder.",
            head=head.name,
            weights=wanted,
            width=width,
        )
    if head.encoder and digest and head.encoder != digest:
        raise InputError(
            f"Head {head.name!r} was fitted on another encoder (its embedding table is {head.encoder}, this one's is "
            f"{digest}): its answers would mean nothing. Fit it on this encoder.",
            head=head.name,
            expected=head.encoder,
            actual=digest,
        )
