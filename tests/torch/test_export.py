"""Exports against PyTorch, on a real encoder and on small models of each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from edgeinfer_browser.errors import GraphError
from edgeinfer_browser.packing.export import export
from edgeinfer_browser.packing.native import answers, feeds_of, open_session

SOURCES = Path(__file__).resolve().parent.parent.parent / ".cache/sources"
TORCH, ONNX = SOURCES / "minilm_torch", SOURCES / "minilm"
TEXTS = ("I love it", "", "Ein schöner Tag in Zürich, 東京 ☕", " ".join(["The plot drags."] * 60))
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(TORCH, "feature-extraction", tmp_path_factory.mktemp("exported")) / "onnx/model.onnx"


def test_an_exported_encoder_answers_as_torch_and_as_the_published_graph(exported: Path) -> None:
    model = transformers.AutoModel.from_pretrained(TORCH).eval()
    feeds = feeds_of(TORCH / "tokenizer.json", TEXTS, INPUTS, 256)
    made = answers(open_session(exported), feeds)
    published = answers(open_session(ONNX / "onnx/model.onnx"), feeds)
    for feed, ours, theirs in zip(feeds, made, published, strict=True):
        with torch.no_grad():
            expected = model(**{name: torch.tensor(array) for name, array in feed.items()}).last_hidden_state.numpy()
        assert ours["last_hidden_state"].shape == expected.shape == (1, feed["input_ids"].shape[1], 384)
        assert np.allclose(ours["last_hidden_state"], expected, atol=1e-4)
        assert np.allclose(ours["last_hidden_state"], theirs["last_hidden_state"], atol=1e-3)


def test_its_inputs_and_output_are_those_of_the_task(exported: Path) -> None:
    session = open_session(exported)
    assert [(each.name, each.shape) for each in session.get_inputs()] == [
        (name, ["batch_size", "sequence_length"]) for name in INPUTS
    ]
    assert [each.name for each in session.get_outputs()] == ["last_hidden_state"]


def small_bert(**more: Any) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=90, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, **more
    )


def test_a_classifier_in_the_older_weight_file(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = transformers.BertForSequenceClassification(small_bert(num_labels=3)).eval()
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    session = open_session(export(tmp_path, "text-classification", tmp_path / "out") / "onnx/model.onnx")
    feed = {"input_ids": np.array([[5, 6, 7, 0]]), "attention_mask": np.array([[1, 1, 1, 0]])}
    feed["token_type_ids"] = np.zeros_like(feed["input_ids"])
    with torch.no_grad():
        expected = model(**{name: torch.tensor(array) for name, array in feed.items()}).logits.numpy()
    assert np.allclose(answers(session, [feed])[0]["logits"], expected, atol=1e-5)


def test_token_types_are_left_out_where_there_is_one(tmp_path: Path) -> None:
    config = transformers.RobertaConfig(**small_bert().to_dict() | {"type_vocab_size": 1, "model_type": "roberta"})
    transformers.RobertaForTokenClassification(config).save_pretrained(tmp_path)
    session = open_session(export(tmp_path, "token-classification", tmp_path / "out") / "onnx/model.onnx")
    assert [each.name for each in session.get_inputs()] == ["input_ids", "attention_mask"]


def test_an_image_model_takes_pixel_values(tmp_path: Path) -> None:
    torch.manual_seed(1)
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8
    )
    model = transformers.ViTForImageClassification(config).eval()
    model.save_pretrained(tmp_path)
    session = open_session(export(tmp_path, "image-classification", tmp_path / "out") / "onnx/model.onnx")
    pixels = np.random.default_rng(1).random((1, 3, 32, 32), dtype=np.float32)
    with torch.no_grad():
        expected = model(torch.tensor(pixels)).logits.numpy()
    assert np.allclose(answers(session, [{"pixel_values": pixels}])[0]["logits"], expected, atol=1e-5)


def test_an_encoder_is_no_classifier(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"no weights for classifier\.bias, classifier\.weight"):
        export(TORCH, "text-classification", tmp_path)


def test_weights_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "cut"
    source.mkdir()
    (source / "config.json").write_bytes((TORCH / "config.json").read_bytes())
    (source / "model.safetensors").write_bytes((TORCH / "model.safetensors").read_bytes()[:1_000_000])
    with pytest.raises(GraphError, match="cut cannot be loaded"):
        export(source, "feature-extraction", tmp_path / "out")
