"""Build the demo's sentiment model, in the folder layout that transformers.js reads too::

    .cache/sentiment/  config.json  tokenizer.json  tokenizer_config.json
                       onnx/model.onnx  onnx/model_fp16.onnx  onnx/model_quantized.onnx  (+ .onnx_data each)

``python tools/build_sentiment.py`` converts the MiniLM encoder, joins it with ``models/sentiment/head.json``, and
prints how far each variant agrees with float32 on the calibration texts. The same inputs give the same bytes.
It does nothing when the folder is up to date; ``--force`` builds anyway.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from fetch_sources import ENCODER, MINILM, SourceError, fetch_all, sha256_of
from sentiment_data import load_split
from sentiment_graph import Head, join
from sentiment_scores import MAX_TOKENS, open_session, open_tokenizer, run_each, run_padded, score_texts
from sentiment_variants import VARIANTS, save

ROOT = Path(__file__).resolve().parent.parent
RECIPE = ROOT / "models" / "sentiment"
OUTPUT = ROOT / ".cache" / "sentiment"
STAMP = ".built.json"
PADDING_TOLERANCE = 1e-3  # on logits that reach 10 or so; rounding alone gives 1e-5

CONFIG = {
    "architectures": ["BertForSequenceClassification"],
    "hidden_size": 384,
    "id2label": {"0": "negative", "1": "positive"},
    "intermediate_size": 1536,
    "label2id": {"negative": 0, "positive": 1},
    "max_position_embeddings": 512,
    "model_type": "bert",
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "pad_token_id": 0,
    "problem_type": "single_label_classification",
    "transformers.js_config": {"use_external_data_format": True},
    "type_vocab_size": 2,
    "vocab_size": 30522,
}
TOKENIZER_CONFIG = {
    "cls_token": "[CLS]",
    "do_lower_case": True,
    "mask_token": "[MASK]",
    "model_max_length": MAX_TOKENS,
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "tokenizer_class": "BertTokenizer",
    "unk_token": "[UNK]",
}


class BuildError(Exception):
    """The graph that was built does not do what it should."""


def load_encoder() -> onnx.ModelProto:
    """The MiniLM export with its weights."""
    return onnx.load(str(MINILM / "onnx" / "model.onnx"))


def fingerprint() -> str:
    """Changes when anything that decides the bytes does: sources, head, these scripts, onnx and ONNX Runtime."""
    digest = hashlib.sha256(f"{ENCODER.sha256} {onnx.__version__} {ort.__version__}".encode())
    scripts = ("build_sentiment", "sentiment_graph", "sentiment_scores", "sentiment_variants")
    for path in [RECIPE / "head.json", *(ROOT / "tools" / f"{name}.py" for name in scripts)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def up_to_date(folder: Path) -> bool:
    """Whether the stamp matches and every file it lists is there, whole."""
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if stamp["fingerprint"] != fingerprint():
        return False
    return all(
        (folder / name).is_file() and sha256_of(folder / name) == digest for name, digest in stamp["files"].items()
    )


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people to read: two spaces, keys as given."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def write_tokenizer(folder: Path) -> None:
    """Copy the tokenizer; padding and cutting to 128 tokens, which its file asks for, are the caller's to decide."""
    tokenizer = json.loads((MINILM / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", TOKENIZER_CONFIG)


def build(folder: Path) -> None:
    """Write the whole folder; the stamp last, so that an interrupted or refused build starts over."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / STAMP).unlink(missing_ok=True)
    write_json(folder / "config.json", CONFIG)
    write_tokenizer(folder)
    encoder, head = load_encoder(), Head.read(RECIPE / "head.json")
    for name, convert in VARIANTS.items():
        save(join(convert(encoder), head), folder / "onnx" / f"{name}.onnx")
    check_padding(folder)
    names = ["config.json", "tokenizer.json", "tokenizer_config.json"]
    names += [f"onnx/{name}.{suffix}" for name in VARIANTS for suffix in ("onnx", "onnx_data")]
    files = {name: sha256_of(folder / name) for name in names}
    write_json(folder / STAMP, {"fingerprint": fingerprint(), "files": files})


def print_agreement(folder: Path) -> None:
    """Compare each variant with float32 on the calibration texts, which neither training nor evaluation use."""
    texts = [text.text for text in load_split("calibration")]
    scores = {name: score_texts(folder, name, texts) for name in VARIANTS}
    reference = scores["model"]
    for name, mine in scores.items():
        size = sum(path.stat().st_size for path in (folder / "onnx").glob(f"{name}.onnx*"))
        same, distance = np.mean((mine > 0.5) == (reference > 0.5)), np.abs(mine - reference)
        print(
            f"{name:16} {size / 1e6:5.1f} MB  same label as fp32 {same:.1%} of {len(texts)}, "
            f"score differs by {distance.mean():.4f} on average, {distance.max():.4f} at most"
        )


def check_padding(folder: Path) -> None:
    """Padding may not change the float32 logits: run texts of all lengths in one batch, and each alone."""
    texts = [text.text for text in load_split("calibration")[::10]]
    session, tokenizer = open_session(folder / "onnx" / "model.onnx"), open_tokenizer(folder / "tokenizer.json")
    alone = run_each(session, tokenizer, texts)
    padded = run_padded(session, tokenizer, texts)
    distance = float(np.abs(alone - padded).max())
    if not distance < PADDING_TOLERANCE:
        raise BuildError(f"padding changes the float32 logits by {distance:.2g}: the mask is not heeded somewhere")
    print(f"padding changes the float32 logits by {distance:.1g} at most")


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Build the demo's sentiment model.")
    parser.add_argument("--force", action="store_true", help="build even if the folder is up to date")
    options = parser.parse_args(arguments)
    try:
        fetch_all()
        if not options.force and up_to_date(OUTPUT):
            print(f"{OUTPUT.relative_to(ROOT)} is up to date")
            return 0
        build(OUTPUT)
    except (SourceError, BuildError) as error:
        print(f"build_sentiment: {error}", file=sys.stderr)
        return 1
    print_agreement(OUTPUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
