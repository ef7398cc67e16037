"""A text encoder in miniature, with the structure of a real one: embeddings, attention, residual sums, normalisations.

Random weights of a fixed seed: seven words (the ids of ``TOKENIZER``), two layers, width 8.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests.unit.fakes import TOKENIZER

WORDS, WIDTH, LAYERS = 7, 8, 2

_INPUTS = ("input_ids", "attention_mask")


def encoder(*, norm_first: bool = False, layers: int = LAYERS, seed: int = 7) -> onnx.ModelProto:
    """``input_ids``, ``attention_mask`` -> ``last_hidden_state``; layers normalise at their end, or first."""
    made = _Maker(seed)
    made.node("Gather", ["table", "input_ids"], "words")
    made.constant("table", made.random.normal(size=(WORDS, WIDTH)))
    hidden = "words" if norm_first else made.normalized("words", "embeddings_norm")
    made.mask()
    for number in range(layers):
        hidden = made.layer(hidden, f"layer{number}", norm_first=norm_first)
    if norm_first:
        hidden = made.normalized(hidden, "final_norm")
    made.node("Identity", [hidden], "last_hidden_state")
    return made.model(["last_hidden_state"])


def pooled_encoder(seed: int = 7) -> onnx.ModelProto:
    """The same with ``sentence_embedding`` [batch_size, width]: the first token's vector."""
    model = encoder(seed=seed)
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.int64), "first"))
    model.graph.node.append(helper.make_node("Gather", ["last_hidden_state", "first"], ["sentence_embedding"], axis=1))
    del model.graph.output[:]
    model.graph.output.append(_value("sentence_embedding", TensorProto.FLOAT, ["batch_size", WIDTH]))
    return model


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def node(self, kind: str, inputs: Sequence[str], output: str, **attributes: object) -> str:
        node = helper.make_node(kind, list(inputs), [output], name=output)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return output

    def constant(self, name: str, values: object, dtype: type[np.generic] = np.float32) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def mask(self) -> None:
        """0 on the text and -1e4 on the padding, [batch, 1, sequence], for attention's scores."""
        self.constant("one", 1.0)
        self.constant("far", -1e4)
        self.constant("axis", [1], np.int64)
        self.node("Cast", ["attention_mask"], "seen", to=TensorProto.FLOAT)
        self.node("Sub", ["one", "seen"], "unseen")
        self.node("Mul", ["unseen", "far"], "penalty")
        self.node("Unsqueeze", ["penalty", "axis"], "bias")

    def layer(self, hidden: str, name: str, *, norm_first: bool) -> str:
        """Attention and a matrix, each added to what came in."""
        attended = self.attention(self.normalized(hidden, f"{name}_norm1") if norm_first else hidden, name)
        middle = self.node("Add", [attended, hidden], f"{name}_sum1")
        if not norm_first:
            middle = self.normalized(middle, f"{name}_norm1")
        fed = self.normalized(middle, f"{name}_norm2") if norm_first else middle
        weight = self.constant(f"{name}_weight", self.random.normal(size=(WIDTH, WIDTH)) / WIDTH)
        output = self.node("Add", [self.node("MatMul", [fed, weight], f"{name}_fed"), middle], f"{name}_sum2")
        return output if norm_first else self.normalized(output, f"{name}_norm2")

    def attention(self, hidden: str, name: str) -> str:
        turned = self.node("Transpose", [hidden], f"{name}_turned", perm=[0, 2, 1])
        scores = self.node("MatMul", [hidden, turned], f"{name}_scores")
        masked = self.node("Add", [scores, "bias"], f"{name}_masked")
        shares = self.node("Softmax", [masked], f"{name}_shares", axis=-1)
        return self.node("MatMul", [shares, hidden], f"{name}_attended")

    def normalized(self, hidden: str, name: str) -> str:
        scale = self.constant(f"{name}.gamma", self.random.uniform(0.5, 1.5, WIDTH))
        return self.node("LayerNormalization", [hidden, scale, self.constant(f"{name}.beta", np.zeros(WIDTH))], name)

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        inputs = [_value(name, TensorProto.INT64, ["batch_size", "sequence_length"]) for name in _INPUTS]
        results = [_value(name, TensorProto.FLOAT, ["batch_size", "sequence_length", WIDTH]) for name in outputs]
        graph = helper.make_graph(self.nodes, "encoder", inputs, results, self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made)
        return made


def _value(name: str, kind: int, dims: Sequence[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


def write_source(folder: Path, model: onnx.ModelProto) -> Path:
    """A folder in Hugging Face layout: the model, a tokenizer of its seven words, and a configuration."""
    (folder / "onnx").mkdir(parents=True)
    onnx.save_model(model, folder / "onnx/model.onnx")
    (folder / "tokenizer.json").write_bytes(TOKENIZER)
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 64, "hidden_size": WIDTH}))
    return folder
