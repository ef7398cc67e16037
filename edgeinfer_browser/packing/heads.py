"""Join heads to a shared encoder: one download and one run give the embedding and every head's logits.

The heads' part of the graph is float32 and works on any encoder, converted to another dtype or not yet: join before a
variant is made or after. Its nodes are named below :data:`HEAD_SCOPE`. A head is a sum of products (Mul, ReduceSum)
instead of a MatMul, so quantizers pass over it: a few kB gain nothing from int8, and logits would lose by it. A
converter to float16 should be told to leave the scope as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from edgeinfer_browser.packing.head_file import Head

#: Every node and weight of the heads is named below it.
HEAD_SCOPE = "/heads/"


def join_heads(model: onnx.ModelProto, heads: Sequence[Head], task: str) -> onnx.ModelProto:
    """A copy of the encoder with the heads' outputs, and without what only its old outputs needed.

    Args:
        model: an encoder with the input ``attention_mask``; with an output ``sentence_embedding`` [batch_size, width],
            unless it is to be a single classifier that reads every layer. External data must be loaded.
        heads: one or more.
        task: ``text-classification`` with a single head gives one output, ``logits`` [batch_size, labels]; anything
            else gives ``sentence_embedding`` and ``<name>_logits`` for each head.

    Raises:
        InputError: when two heads have one name, or a head does not fit the encoder: width, layers, other weights.
        GraphError: when the encoder lacks what the heads read.
    """
    raise NotImplementedError


def head_output(head: Head, heads: Sequence[Head], task: str) -> str:
    """The name of a head's output in the joined graph."""
    return "logits" if task == "text-classification" and len(heads) == 1 else f"{head.name}_logits"


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
