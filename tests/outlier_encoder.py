"""A small encoder whose activations have outlier channels, as real ones do: what int8's one scale per tensor loses on.

Two layers of projections and a feed-forward part with residual sums, random weights of a fixed seed. One channel of
each normalisation is 40 times larger than the others, and one of each feed-forward part's middle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

WORDS, WIDTH, MIDDLE, LAYERS = 40, 32, 64, 2
OUTLIER = 40.0


def encoder(
    *, norm_first: bool = False, output: str = "sentence_embedding", names: str = "", layers: int = LAYERS
) -> onnx.ModelProto:
    """``input_ids`` int64 [batch_size, sequence_length] -> ``output`` float32 [batch_size, 32], the mean of all tokens.

    Args:
        norm_first: normalise before each part (nothing else reads what the normalisation gives), not after it.
        output: its name.
        names: put before the name of every weight and node.
        layers: how many.
    """
    made = _Maker(names)
    hidden = made.node("Gather", [made.weight("table", made.random.normal(size=(WORDS, WIDTH))), "input_ids"], "words")
    hidden = hidden if norm_first else made.normalized(hidden, "embedded")
    for number in range(layers):
        hidden = made.part(hidden, f"layer{number}/first", (WIDTH,), norm_first=norm_first)
        hidden = made.part(hidden, f"layer{number}/fed", (MIDDLE, WIDTH), norm_first=norm_first)
    made.weights.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    made.nodes.append(helper.make_node("ReduceMean", [hidden, "axis"], [output], keepdims=0, name="mean"))
    return made.model(output)


def feeds(count: int, seed: int = 3) -> list[dict[str, npt.NDArray[np.int64]]]:
    """Texts of 3 to 12 words."""
    random = np.random.default_rng(seed)
    return [{"input_ids": random.integers(0, WORDS, (1, random.integers(3, 13)))} for _ in range(count)]


class _Maker:
    def __init__(self, names: str) -> None:
        self.random = np.random.default_rng(11)
        self.names = names
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def node(self, kind: str, inputs: Sequence[str], name: str) -> str:
        self.nodes.append(helper.make_node(kind, list(inputs), [self.names + name], name=self.names + name))
        return self.names + name

    def weight(self, name: str, values: npt.NDArray[np.float64]) -> str:
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), self.names + name))
        return self.names + name

    def normalized(self, hidden: str, name: str) -> str:
        gamma = self.random.uniform(0.5, 1.5, WIDTH)
        gamma[int(self.random.integers(WIDTH))] = OUTLIER
        scale = self.weight(f"{name}.gamma", gamma)
        return self.node("LayerNormalization", [hidden, scale, self.weight(f"{name}.beta", np.zeros(WIDTH))], name)

    def part(self, hidden: str, name: str, columns: Sequence[int], *, norm_first: bool) -> str:
        """One matrix, or two with a Relu between, added to what came in."""
        read = self.normalized(hidden, f"{name}/norm") if norm_first else hidden
        rows = WIDTH
        for number, width in enumerate(columns):
            read = self.node("Relu", [read], f"{name}/active") if number else read
            values = self.random.normal(size=(rows, width)) / rows
            if width == MIDDLE:
                values[:, int(self.random.integers(width))] *= OUTLIER
            product = self.node("MatMul", [read, self.weight(f"{name}{number}.weight", values)], f"{name}{number}")
            bias = self.weight(f"{name}{number}.bias", self.random.normal(size=width) / 10)
            read, rows = self.node("Add", [product, bias], f"{name}{number}/biased"), width
        total = self.node("Add", [read, hidden], f"{name}/sum")
        return total if norm_first else self.normalized(total, f"{name}/normalized")

    def model(self, output: str) -> onnx.ModelProto:
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])
        given = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch_size", WIDTH])
        graph = helper.make_graph(self.nodes, "encoder", [ids], [given], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.checker.check_model(made)
        return made
