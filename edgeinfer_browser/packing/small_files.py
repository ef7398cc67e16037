"""The small files of a packed folder: config.json and the tokenizer's, as transformers.js reads them too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeinfer_browser.manifest import length_limit
from edgeinfer_browser.packing.manifest_file import write_json
from edgeinfer_browser.packing.model_config import derived_tokenizer_config
from edgeinfer_browser.packing.source import Source

_COPIED = ("preprocessor_config.json", "special_tokens_map.json")
#: How vectors of tokens become one of a text, as sentence-transformers says it.
POOLING_FILES = ("1_Pooling/config.json", "modules.json")


def text_limit(source: Source, config: Mapping[str, Any], wanted: int | None) -> int:
    """The most tokens of a text: what was asked for, else what the source says; never more than there are positions.

    The source's tokenizer_config.json says it, sentence_bert_config.json (the length that an embedding was trained
    for), or the truncation of tokenizer.json.
    """
    truncation = source.json("tokenizer.json").get("truncation") or {}
    stated = [
        source.json("tokenizer_config.json").get("model_max_length"),
        source.json("sentence_bert_config.json").get("max_seq_length"),
    ]
    known = [limit for limit in stated if limit] or [truncation.get("max_length")]
    smallest = wanted or min((limit for limit in known if limit), default=None)
    return length_limit(config, {"model_max_length": smallest})


def write_small_files(
    folder: Path, source: Source, config: Mapping[str, Any], max_length: int | None, more: Sequence[str] = ()
) -> None:
    """Write them, and ``more`` that the source may have; ``max_length`` is None for a model that takes no text."""
    write_json(folder / "config.json", dict(config))
    for name in (*_COPIED, *more):
        if name in source.files:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source.files[name], folder / name)
    if max_length is not None:
        _write_tokenizer(folder, source, max_length)


def _write_tokenizer(folder: Path, source: Source, max_length: int) -> None:
    """tokenizer.json without padding and truncation: how long texts may be, and what is padded, its users decide."""
    tokenizer = source.json("tokenizer.json")
    if tokenizer.get("padding") or tokenizer.get("truncation"):
        plain = json.dumps(
            {**tokenizer, "padding": None, "truncation": None}, ensure_ascii=False, separators=(",", ":")
        )
        (folder / "tokenizer.json").write_text(plain, "utf-8")
    else:
        shutil.copyfile(source.files["tokenizer.json"], folder / "tokenizer.json")
    stated = source.json("tokenizer_config.json")
    derived = derived_tokenizer_config(tokenizer, max_length)
    write_json(folder / "tokenizer_config.json", {**(stated or derived), "model_max_length": max_length})
