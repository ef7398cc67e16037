"""A tiny packed text classifier (a few kB), made by script: for tests of behaviour, where a real model only costs time.

Each word has a number; the logits are ``(-sum, +sum)`` of a text's numbers, so the right answer is known by heart.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: word -> its number.
WORDS = {"good": 1.0, "great": 2.0, "bad": -1.0, "awful": -2.0, "film": 0.0, "the": 0.0}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MAX_LENGTH = 32


def make(out: Path, source: Path) -> Path:
    """Write the source folder, pack it to ``out``, and return ``out``."""
    (source / "onnx").mkdir(parents=True, exist_ok=True)
    onnx.save(graph(), source / "onnx/model.onnx")
    onnx.save(graph(), source / "onnx/model_quantized.onnx")
    config = {"id2label": {"0": "negative", "1": "positive"}, "max_position_embeddings": MAX_LENGTH}
    (source / "config.json").write_text(json.dumps(config))
    (source / "tokenizer.json").write_text(json.dumps(tokenizer()))
    # In a process of its own: Playwright's sync API has an event loop running in this one.
    words = ["pack", str(source), str(out), "--task", "text-classification", "--license", "Apache-2.0"]
    words += [
        "--dtypes",
        "fp32,q8",
        "--keep-variants",
        "--skip-browser-check",
    ]  # quick, and the graphs stay as they are
    subprocess.run([sys.executable, "-m", "edgeinfer_browser.cli", *words], check=True, stdout=subprocess.DEVNULL)
    return out


def graph() -> onnx.ModelProto:
    """input_ids, attention_mask (int64 [batch, sequence]) -> logits (float32 [batch, 2])."""
    numbers = np.array([0.0] * len(SPECIAL) + list(WORDS.values()), np.float32)[:, None]
    nodes = [
        helper.make_node("Gather", ["numbers", "input_ids"], ["picked"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["mask3"]),
        helper.make_node("Mul", ["picked", "mask3"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axis"], ["sum"], keepdims=0),
        helper.make_node("MatMul", ["sum", "sides"], ["logits"]),
    ]
    ids = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"])
        for n in ("input_ids", "attention_mask")
    ]
    logits = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2])]
    constants = [
        numpy_helper.from_array(numbers, "numbers"),
        numpy_helper.from_array(np.array([-1], np.int64), "last"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
        numpy_helper.from_array(np.array([[-1.0, 1.0]], np.float32), "sides"),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "tiny", ids, logits, constants),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    return model


def tokenizer() -> dict[str, Any]:
    """A WordPiece tokenizer.json over the words."""
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
    added = [
        {
            "id": i,
            "content": word,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for i, word in enumerate(SPECIAL)
    ]
    single = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": {
                word: {"id": word, "ids": [vocabulary[word]], "tokens": [word]} for word in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary,
        },
    }
