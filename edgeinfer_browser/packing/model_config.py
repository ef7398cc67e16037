"""config.json and tokenizer_config.json of a packed folder: the source's own, or what graph and tokenizer tell.

transformers.js needs both to load a folder: the architecture's name, the labels, where the weights are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

#: Attributes and tables of a BERT: what else has three embedding tables and WordPiece tokens?
_BERT_TOKENIZER = "WordPiece"
#: Role of a special token -> how the families spell it.
_SPECIAL_TOKENS = {
    "unk_token": ("[UNK]", "<unk>"),
    "cls_token": ("[CLS]", "<s>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
    "mask_token": ("[MASK]", "<mask>"),
}


def derived_config(model: onnx.ModelProto, tokenizer: Mapping[str, Any]) -> dict[str, Any]:
    """What a graph of an encoder and its tokenizer.json say of its configuration; keys that they do not are left out.

    ``model_type`` is ``bert`` for three embedding tables (tokens, positions, types) and WordPiece tokens.
    """
    tables = _tables(model)
    words, types = tables.pop("input_ids", None), tables.pop("token_type_ids", None)
    positions = next((dims for dims in tables.values() if words and dims[1] == words[1]), None)
    heads = [attribute.i for node in model.graph.node for attribute in node.attribute if attribute.name == "num_heads"]
    found: dict[str, Any] = {}
    if words:
        found |= {"vocab_size": words[0], "hidden_size": words[1]}
    if positions:
        found["max_position_embeddings"] = positions[0]
    if types:
        found["type_vocab_size"] = types[0]
    if heads:
        found |= {"num_attention_heads": heads[0], "num_hidden_layers": len(heads)}
    if words and positions and types and tokenizer.get("model", {}).get("type") == _BERT_TOKENIZER:
        found |= {"model_type": "bert", "architectures": ["BertModel"]}
    return found


def derived_tokenizer_config(tokenizer: Mapping[str, Any], max_length: int) -> dict[str, Any]:
    """What transformers.js needs beside a tokenizer.json: the class, the special tokens, the length limit."""
    added = {token["content"] for token in tokenizer.get("added_tokens", ()) if token.get("special")}
    special = {role: next((word for word in words if word in added), None) for role, words in _SPECIAL_TOKENS.items()}
    bert = tokenizer.get("model", {}).get("type") == _BERT_TOKENIZER
    return {
        "model_max_length": max_length,
        "tokenizer_class": "BertTokenizer" if bert else "PreTrainedTokenizerFast",
        **{role: word for role, word in special.items() if word},
    }


def labelled(config: Mapping[str, Any], labels: Sequence[str], problem_type: str) -> dict[str, Any]:
    """The configuration with a model's labels, as Hugging Face writes them."""
    return {
        **config,
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
        "problem_type": problem_type,
    }


def with_external_data(config: Mapping[str, Any], data_files: Mapping[str, int]) -> dict[str, Any]:
    """The configuration with what transformers.js must know: name of each .onnx file -> how many data files it has."""
    own = dict(config.get("transformers.js_config") or {})
    counts = {name: count for name, count in sorted(data_files.items()) if count}
    return {**config, "transformers.js_config": {**own, "use_external_data_format": counts or False}}


def _tables(model: onnx.ModelProto) -> dict[str, tuple[int, int]]:
    """What looks rows up in a table -> the dims of the table."""
    dims = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return {
        node.input[1]: (dims[node.input[0]][0], dims[node.input[0]][1])
        for node in model.graph.node
        if node.op_type == "Gather" and len(dims.get(node.input[0], ())) == 2
    }
