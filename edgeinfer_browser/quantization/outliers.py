"""Outlier channels, computed on the side in float32: a product of a few rows, added to the integer one.

Smoothing has its price where both a channel and its row of weights are large: the row takes the steps of its columns'
scales. A handful of such channels costs next to nothing in float.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgeinfer_browser.quantization.matrices import Floats, Matrix, initializers, insert_before, node_named

#: Ends the names of the nodes added here, which stay float32.
SIDE = "/outliers"


def largest_channels(magnitudes: Floats, weight: Floats, count: int) -> list[int]:
    """The ``count`` channels that can add most to the product, in order.

    Args:
        magnitudes: the largest ``|x|`` of each channel, [channels].
        weight: [channels, columns].
        count: how many; at most half of the channels are given.
    """
    reach = magnitudes * np.abs(weight).max(axis=1)
    return sorted(int(channel) for channel in np.argsort(-reach, kind="stable")[: min(count, len(reach) // 2)])


def add_side_product(model: onnx.ModelProto, matrix: Matrix, channels: Sequence[int]) -> list[str]:
    """Add ``input[channels] @ weight[channels]`` to what ``matrix`` gives, which is to leave them out from then on.

    Args:
        model: changed; the caller takes the channels out of the matrix (``scale_channels`` with zeros).
        matrix: its input is not changed yet.
        channels: which.

    Returns:
        Names of the nodes that have to stay float32.
    """
    name = matrix.output + SIDE
    rows = numpy_helper.to_array(initializers(model)[matrix.weight])[list(channels)]
    model.graph.initializer.extend(
        [
            numpy_helper.from_array(np.array(channels, np.int64), f"{name}/channels"),
            numpy_helper.from_array(np.ascontiguousarray(rows), f"{name}/weight"),
        ]
    )
    before = [
        helper.make_node("Gather", [matrix.input, f"{name}/channels"], [f"{name}/taken"], f"{name}/Gather", axis=-1),
        helper.make_node("MatMul", [f"{name}/taken", f"{name}/weight"], [f"{name}/product"], f"{name}/MatMul"),
    ]
    insert_before(model, matrix.node, before)
    node_named(model, matrix.node).output[0] = f"{matrix.output}/rest"
    after = helper.make_node("Add", [f"{matrix.output}/rest", f"{name}/product"], [matrix.output], f"{name}/Add")
    at = next(index for index, node in enumerate(model.graph.node) if node.name == matrix.node)
    model.graph.node.insert(at + 1, after)
    return [node.name for node in before]
