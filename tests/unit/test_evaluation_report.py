"""The report of a small packed model, natively: figures, tables, picture, and what is written back."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeinfer_browser.cli import main
from edgeinfer_browser.errors import InputError, ManifestError
from edgeinfer_browser.evaluation.latency import interleaved, summary
from edgeinfer_browser.evaluation.packed_model import PackedModel
from edgeinfer_browser.evaluation.picture import draw, require_format
from edgeinfer_browser.evaluation.report import Wish, evaluate
from edgeinfer_browser.evaluation.samples import Samples, read_samples
from edgeinfer_browser.evaluation.table import table
from edgeinfer_browser.manifest import revision_of
from edgeinfer_browser.packing.files import file_entry
from edgeinfer_browser.packing.texts import digest_of

WORDS = ("good", "bad", "film", "very", "not", "a")
VOCABULARY = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
SHAPE = ["batch_size", "sequence_length"]


def tokenizer() -> dict[str, Any]:
    special = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    special.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": special,
            "pair": special,
            "special_tokens": {
                name: {"id": name, "ids": [VOCABULARY[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "[UNK]"},
    }


def graph(noise: float) -> onnx.ModelProto:
    """Mean of word vectors, and two logits of it; ``noise`` makes it another variant."""
    random = np.random.default_rng(7)
    vectors = random.normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    vectors[VOCABULARY["good"], 0], vectors[VOCABULARY["bad"], 0] = 9.0, -9.0
    vectors += np.random.default_rng(1).normal(size=vectors.shape).astype(np.float32) * np.float32(noise)
    weights = np.zeros((8, 2), np.float32)
    weights[0] = -1.0, 1.0
    nodes = [
        helper.make_node("Gather", ["vectors", "input_ids"], ["tokens"], "gather"),
        helper.make_node("ReduceMean", ["tokens", "axis"], ["sentence_embedding"], "mean", keepdims=0),
        helper.make_node("MatMul", ["sentence_embedding", "weights"], ["mood_logits"], "mood"),
    ]
    outputs = [
        helper.make_tensor_value_info("mood_logits", TensorProto.FLOAT, ["batch_size", 2]),
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch_size", 8]),
    ]
    constants = {"vectors": vectors, "weights": weights, "axis": np.array([1])}
    made = helper.make_graph(
        nodes,
        "mood",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, SHAPE)],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A shared encoder with a head, as fp32 and as a q8 that strays a little."""
    out = tmp_path / "mood"
    (out / "onnx").mkdir(parents=True)
    (out / "tokenizer.json").write_text(json.dumps(tokenizer()), "utf-8")
    (out / "config.json").write_text("{}", "utf-8")
    variants = {}
    for dtype, name, noise in (("fp32", "model", 0.0), ("q8", "model_quantized", 0.05)):
        path = f"onnx/{name}.onnx"
        onnx.save(graph(noise), str(out / path))
        entry = {"path": path, **file_entry(out / path)}
        variants[dtype] = {"files": [entry], "largest_tensor": 320, "features": [], "tolerance": 0.5, "golden": []}
    manifest = {
        "format": 1,
        "name": "mood",
        "task": "feature-extraction",
        "labels": [],
        "problem_type": "",
        "max_length": 64,
        "inputs": [{"name": "input_ids", "dtype": "int64", "dims": SHAPE}],
        "outputs": [
            {"name": "mood_logits", "dtype": "float32", "dims": ["batch_size", 2]},
            {"name": "sentence_embedding", "dtype": "float32", "dims": ["batch_size", 8]},
        ],
        "heads": [
            {
                "name": "mood",
                "output": "mood_logits",
                "labels": ["negative", "positive"],
                "problem_type": "single_label_classification",
            }
        ],
        "calibration": {"texts": 1, "digests": [digest_of("a very good film")]},
        "files": {name: file_entry(out / name) for name in ("config.json", "tokenizer.json")},
        "golden": [],
        "variants": variants,
    }
    manifest["revision"] = revision_of(manifest)
    (out / "edgeinfer.json").write_text(json.dumps(manifest), "utf-8")
    return out


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """24 labelled texts, one of them wrong on purpose."""
    rows = ["text,label"]
    for count in range(1, 13):
        rows += [f"{'film ' * count}good,positive", f"{'a ' * count}bad,negative"]
    rows[-1] = rows[-1].replace("negative", "positive")
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(rows), "utf-8")
    return path


@pytest.fixture
def report(folder: Path, texts: Path) -> dict[str, Any]:
    return evaluate(PackedModel.read(folder), read_samples(texts), Wish(("native",), rounds=2), lambda _: None)


def test_each_variant_is_compared_by_its_embedding_and_by_its_head(report: dict[str, Any]) -> None:
    q8 = report["variants"]["q8"]
    assert list(q8["agreement"]) == ["sentence_embedding", "mood_logits"]
    assert 0.9 < q8["agreement"]["sentence_embedding"]["worst_cosine"] < 1
    assert q8["agreement"]["mood_logits"]["same_label"] == 1
    assert report["variants"]["fp32"]["agreement"]["sentence_embedding"]["mean_cosine"] == pytest.approx(1)
    assert q8["bytes"] > 0


def test_accuracy_stands_beside_the_majority(report: dict[str, Any]) -> None:
    reached = report["variants"]["fp32"]["accuracy"]["mood_logits"]
    assert reached["accuracy"] == pytest.approx(23 / 24)
    assert reached["majority"] == pytest.approx(13 / 24)
    assert (reached["gained"], reached["lost"]) == (0, 0)


def test_latency_is_measured_at_fixed_lengths_up_to_the_models_limit(report: dict[str, Any]) -> None:
    assert report["texts"]["timed_tokens"] == [8, 32]
    for variant in report["variants"].values():
        latency = variant["tiers"]["native"]["latency"]
        assert {tokens: figures["runs"] for tokens, figures in latency.items()} == {"8": 2, "32": 2}
    assert report["variants"]["fp32"]["tiers"]["native"]["latency"]["8"]["ratio_to_fp32"] == 1
    assert report["machine"]["onnxruntime"]


def test_feeds_of_a_length_have_just_that_many_tokens(folder: Path) -> None:
    feeds = PackedModel.read(folder).feeds_of_length(["good film", "bad"], (8, 64, 65))
    assert {length: np.shape(feed["input_ids"]) for length, feed in feeds.items()} == {8: (1, 8), 64: (1, 64)}


def test_few_texts_and_doubles_are_said(folder: Path) -> None:
    samples = Samples(("good", "bad"), ("positive", "negative"), duplicates=3, unlabelled=0)
    warnings = evaluate(PackedModel.read(folder), samples, Wish(("native",), 1), lambda _: None)["warnings"]
    assert any("Only 2 texts" in line for line in warnings)
    assert any("3 texts differ" in line for line in warnings)


def test_the_table_names_units_and_every_variant(report: dict[str, Any]) -> None:
    lines = list(table(report))
    assert any(line.startswith("sentence_embedding: agreement with fp32, 24 texts") for line in lines)
    assert sum(line.split()[:1] == ["q8"] for line in lines) == 3  # two outputs and the native tier
    assert any("median (p90) in ms" in line for line in lines)
    assert any("95.8 ± " in line for line in lines)
    assert any("always saying 'positive' would be right for 54.2% of the texts" in line for line in lines)


def test_a_variant_that_could_not_run_is_told_with_its_reason(report: dict[str, Any]) -> None:
    report["variants"]["q8"] = {
        "bytes": 1, "agreement": {}, "accuracy": {}, "tiers": {"native": {"error": "no such operator"}},
    }  # fmt: skip
    lines = list(table(report))
    assert "  q8: not measured: no such operator" in lines
    assert "  native, q8: not measured: no such operator" in lines


@pytest.mark.parametrize("name", ["quality.svg", "quality.png"])
def test_the_picture_labels_every_variant(report: dict[str, Any], tmp_path: Path, name: str) -> None:
    path = tmp_path / "new" / name
    draw(report, path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    if name.endswith("svg"):
        assert all(f"<!-- {dtype} -->".encode() in content for dtype in ("fp32", "q8"))


def test_a_picture_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        require_format(Path("quality.jpeg"))


def test_written_back_the_manifest_has_the_agreement_and_another_revision(folder: Path, texts: Path) -> None:
    before = PackedModel.read(folder)
    words = ["evaluate", str(folder), "--texts", str(texts), "--no-browser", "--runs", "1", "--write"]
    assert main(words) == 0
    after = PackedModel.read(folder)
    assert after.manifest.revision != before.manifest.revision
    assert after.manifest.revision == revision_of(after.source)
    q8 = after.source["variants"]["q8"]["agreement"]
    assert (q8["texts"], q8["output"], q8["same_label"]) == (24, "sentence_embedding", 1.0)
    assert 0.9 < q8["worst_cosine"] < 1
    assert [each["dtype"] for each in after.source["advice"]["files"] if each["tier"] == "wasm"] == ["q8"]
    assert not list(folder.parent.glob(".mood*"))


def test_what_cannot_be_written_leaves_the_folder_as_it_was(
    folder: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edgeinfer_browser.evaluation.write_back.write_manifest", full)
    arguments = ["evaluate", str(folder), "--texts", str(texts), "--no-browser", "--runs", "1", "--write"]
    assert main(arguments) == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not list(folder.parent.glob(".mood*"))


def test_texts_that_were_calibrated_on_end_the_command_before_it_measures(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "t.txt"
    texts.write_text("A very good film!\nbad\n", "utf-8")
    assert main(["evaluate", str(folder), "--texts", str(texts), "--no-browser"]) == 1
    said = capsys.readouterr()
    assert "InputError: 1 of the 2 evaluation texts were used for calibration" in said.err
    assert said.out == ""


def test_labels_of_another_task_end_the_command_with_both_lists(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "t.csv"
    texts.write_text("text,label\ngood,5 stars\n", "utf-8")
    assert main(["evaluate", str(folder), "--texts", str(texts), "--no-browser"]) == 1
    assert "5 stars" in (said := capsys.readouterr().err)
    assert "negative, positive" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tiers", "cuda"], "Unknown tier 'cuda'"),
        (["--tiers", ","], "names no tier"),
        (["--runs", "0"], "--runs 0"),
        (["--picture", "a.pdf"], "must end in"),
        (["--no-browser", "--json", "/proc/no/report.json"], "could not be written"),
    ],
)
def test_options_that_cannot_be_are_refused(
    folder: Path, texts: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(folder), "--texts", str(texts), "--runs", "1", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_folder_that_cannot_be_compared_says_why(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="edgeinfer pack"):
        PackedModel.read(tmp_path)
    source = json.loads((folder / "edgeinfer.json").read_text("utf-8"))
    del source["variants"]["fp32"]
    source["revision"] = revision_of(source)
    (folder / "edgeinfer.json").write_text(json.dumps(source), "utf-8")
    with pytest.raises(ManifestError, match=r"no fp32 variant \(q8\)"):
        PackedModel.read(folder)


def test_runs_take_turns_and_each_round_begins_elsewhere() -> None:
    order: list[str] = []

    def run(name: str) -> float:
        order.append(name)
        return float(len(order))

    taken = interleaved({name: partial(run, name) for name in "abc"}, rounds=2, warm_up=1)
    assert "".join(order) == "abcbcacab"
    assert taken == {"a": [6.0, 8.0], "b": [4.0, 9.0], "c": [5.0, 7.0]}


def test_the_ratio_is_taken_round_by_round() -> None:
    found = summary([1.0, 30.0, 2.0], [2.0, 60.0, 1.0])
    assert (found["median_ms"], found["ratio_to_fp32"], found["runs"]) == (2.0, 0.5, 3)
    assert found["p90_ms"] == pytest.approx(24.4)
    assert "ratio_to_fp32" not in summary([1.0], None)
