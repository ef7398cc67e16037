"""pack(): tiny graphs made fit for their task, measured, written whole; and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgeinfer_browser.errors import GraphError, InputError, ManifestError, UnknownNameError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.packing.head_file import Head, head_json
from edgeinfer_browser.packing.measurement import NOT_CHECKED
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.pack import Options, pack
from edgeinfer_browser.packing.variants import put_variant
from tests import tiny_encoder, tiny_model

NO_BROWSER = Options(browser=None)
LABELLED = {"id2label": {"0": "bad", "1": "good"}}


def embed(source: Path, out: Path, **options: Any) -> dict[str, Any]:
    return pack(source, out, "feature-extraction", variants={}, options=Options(browser=None, **options))


def classify(source: Path, out: Path, **options: Any) -> dict[str, Any]:
    return pack(source, out, "text-classification", variants={}, options=Options(browser=None, **options))


def run(folder: Path, ids: list[list[int]], mask: list[list[int]] | None = None) -> npt.NDArray[Any]:
    """The one output for a batch of texts."""
    feeds = {"input_ids": np.array(ids), "attention_mask": np.array(mask) if mask else np.ones_like(ids)}
    feeds["token_type_ids"] = np.zeros_like(ids)
    (output,) = answers(open_session(folder / "onnx/model.onnx"), [feeds])[0].values()
    return output


def hidden(ids: list[list[int]]) -> npt.NDArray[Any]:
    """last_hidden_state of the tiny encoder."""
    feeds = {name: np.zeros_like(ids) for name in tiny_encoder.INPUTS} | {"input_ids": np.array(ids)}
    feeds["attention_mask"] = np.ones_like(ids)
    return answers(open_session(tiny_encoder.encoder()), [feeds])[0]["last_hidden_state"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tiny_encoder.write(tmp_path / "source")


IDS = [[2, 4, 5, 3]]


def test_an_embedding_is_the_normalised_mean_of_the_tokens(source: Path, tmp_path: Path) -> None:
    manifest = embed(source, tmp_path / "out")
    mean = hidden(IDS)[0].mean(axis=0)
    assert np.allclose(run(tmp_path / "out", IDS)[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert [entry["name"] for entry in manifest["inputs"]] == ["input_ids", "attention_mask"]
    width = tiny_encoder.WIDTH
    assert manifest["outputs"] == [
        {"name": "sentence_embedding", "dtype": "float32", "dims": ["batch_size", width]},
        {"name": "last_hidden_state", "dtype": "float32", "dims": ["batch_size", "sequence_length", width]},
    ]


def test_the_first_token_and_no_normalising(source: Path, tmp_path: Path) -> None:
    embed(source, tmp_path / "out", pooling="cls", normalize=False)
    assert np.allclose(run(tmp_path / "out", IDS), hidden(IDS)[:, 0], atol=1e-5)


def test_no_pooling_gives_every_token(source: Path, tmp_path: Path) -> None:
    manifest = embed(source, tmp_path / "out", pooling="none")
    assert manifest["outputs"][0]["name"] == "last_hidden_state"
    assert np.allclose(run(tmp_path / "out", IDS), hidden(IDS), atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_padding_does_not_change_an_embedding(source: Path, tmp_path: Path, pooling: str) -> None:
    embed(source, tmp_path / "out", pooling=pooling)
    alone = run(tmp_path / "out", IDS)
    padded = run(tmp_path / "out", [[*IDS[0], 7, 0, 9], [2, 4, 5, 6, 7, 8, 3]], [[1] * 4 + [0] * 3, [1] * 7])
    assert np.allclose(padded[:1], alone, atol=1e-6)


def test_a_mask_that_is_not_heeded_is_warned_of(tmp_path: Path) -> None:
    model = tiny_encoder.encoder()
    for node in model.graph.node:
        if node.name == "biased":
            node.input[1] = "zero_float"
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((), np.float32), "zero_float"))
    manifest = embed(tiny_encoder.write(tmp_path / "source", model), tmp_path / "out")
    assert any(warning.startswith("Padding changes the answer") for warning in manifest["variants"]["fp32"]["warnings"])


def test_sentence_transformers_files_say_how_to_pool(source: Path, tmp_path: Path) -> None:
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling/config.json").write_text(
        '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false, "word_embedding_dimension": 16}'
    )
    kinds = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling")
    (source / "modules.json").write_text(json.dumps([{"type": kind} for kind in kinds]))
    (source / "sentence_bert_config.json").write_text('{"max_seq_length": 20}')
    manifest = embed(source, tmp_path / "out")
    assert manifest["max_length"] == 20
    assert np.allclose(run(tmp_path / "out", IDS), hidden(IDS)[:, 0], atol=1e-5)


def test_pooling_that_is_not_known_is_refused(source: Path, tmp_path: Path) -> None:
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling/config.json").write_text('{"pooling_mode_lasttoken": true}')
    with pytest.raises(ManifestError, match=r"asks for pooling_mode_lasttoken.*--pooling"):
        embed(source, tmp_path / "out")


def test_fused_attention_is_written_out_and_answers_the_same(tmp_path: Path) -> None:
    fused = tiny_encoder.write(tmp_path / "source", tiny_encoder.encoder(fused=True))
    manifest = embed(fused, tmp_path / "out", pooling="none")
    assert "1 MultiHeadAttention nodes written out" in manifest["variants"]["fp32"]["method"]
    graph = onnx.load(str(tmp_path / "out/onnx/model.onnx"), load_external_data=False).graph
    assert not {"MultiHeadAttention", "Expand"} & {node.op_type for node in graph.node}
    assert np.allclose(run(tmp_path / "out", IDS), hidden(IDS), atol=1e-5)


@pytest.mark.parametrize(("kind", "problem"), [("Softmax", "single_label"), ("Sigmoid", "multi_label")])
def test_scores_become_logits(tmp_path: Path, kind: str, problem: str) -> None:
    source = tiny_encoder.write(tmp_path / "source", tiny_encoder.with_scores(kind), config=LABELLED)
    manifest = classify(source, tmp_path / "out")
    assert manifest["outputs"][0]["name"] == "logits"
    assert manifest["problem_type"] == f"{problem}_classification"
    assert f"a final {kind} removed" in manifest["variants"]["fp32"]["method"]
    weights = {
        tensor.name: numpy_helper.to_array(tensor) for tensor in tiny_encoder.with_scores(kind).graph.initializer
    }
    assert np.allclose(run(tmp_path / "out", IDS), hidden(IDS)[:, 0] @ weights["w_labels"], atol=1e-5)


def test_labels_from_the_command_line_are_written_to_the_configuration(tmp_path: Path) -> None:
    source = tiny_encoder.write(tmp_path / "source", tiny_encoder.with_scores("Softmax"), config={"model_type": "bert"})
    assert classify(source, tmp_path / "out", labels=("no", "yes"))["labels"] == ["no", "yes"]
    assert json.loads((tmp_path / "out/config.json").read_text())["id2label"] == {"0": "no", "1": "yes"}


def test_labels_that_do_not_match_the_logits(tmp_path: Path) -> None:
    source = tiny_encoder.write(tmp_path / "source", tiny_encoder.with_scores("Softmax", 3), config=LABELLED)
    with pytest.raises(GraphError, match=r"names 2 labels \(bad, good\); the graph gives 3 logits"):
        classify(source, tmp_path / "out")


def test_labels_that_nobody_names(tmp_path: Path) -> None:
    source = tiny_encoder.write(tmp_path / "source", tiny_encoder.with_scores("Softmax"))
    with pytest.raises(ManifestError, match=r"no id2label.*--labels"):
        classify(source, tmp_path / "out")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (tiny_encoder.encoder(dims=(1, "sequence")), r"'input_ids' has a fixed batch_size of 1"),
        (tiny_encoder.encoder(dims=("batch", 8)), r"'input_ids' has a fixed sequence_length of 8"),
        (tiny_encoder.encoder(dims=(1, 8)), r"a fixed batch_size of 1 and a fixed sequence_length of 8"),
        (tiny_encoder.with_scores("Softmax"), r"no output \[batch_size, sequence_length, width\].*scores"),
    ],
)
def test_shapes_that_do_not_fit_the_task(tmp_path: Path, model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        embed(tiny_encoder.write(tmp_path / "source", model), tmp_path / "out")


def test_shapes_that_are_fixed_inside_the_graph(tmp_path: Path) -> None:
    model = tiny_encoder.encoder()
    next(node for node in model.graph.node if node.name == "key_split").input[1] = "one_text"
    shape = np.array([1, -1, tiny_encoder.HEADS, 8], np.int64)
    model.graph.initializer.append(numpy_helper.from_array(shape, "one_text"))
    with pytest.raises(GraphError, match="does not run with a batch_size of 2 and a sequence_length of 7"):
        embed(tiny_encoder.write(tmp_path / "source", model), tmp_path / "out")


def changed_input(name: str, kind: int, dims: list[str]) -> onnx.ModelProto:
    model = tiny_encoder.encoder()
    model.graph.input[2].CopyFrom(helper.make_tensor_value_info(name, kind, dims))
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (changed_input("position_ids", TensorProto.INT64, ["b", "s"]), "wants the input 'position_ids'; a text gives"),
        (changed_input("token_type_ids", TensorProto.INT32, ["b", "s"]), "'token_type_ids' is int32.*int64"),
        (changed_input("token_type_ids", TensorProto.INT64, ["b"]), "has 1 dims"),
    ],
)
def test_inputs_that_a_text_does_not_give(tmp_path: Path, model: onnx.ModelProto, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        embed(tiny_encoder.write(tmp_path / "source", model), tmp_path / "out")


def test_a_model_whose_logits_have_no_batch(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"no output \[batch_size, labels\].*--head"):
        classify(tiny_encoder.write(tmp_path / "source", config=LABELLED), tmp_path / "out")


def test_weights_that_make_no_number(tmp_path: Path) -> None:
    model = tiny_encoder.encoder()
    gain = next(tensor for tensor in model.graph.initializer if tensor.name == "gain")
    gain.CopyFrom(numpy_helper.from_array(np.full(tiny_encoder.WIDTH, np.nan, np.float32), "gain"))
    with pytest.raises(GraphError, match="NaN or infinity in 'last_hidden_state'"):
        embed(tiny_encoder.write(tmp_path / "source", model), tmp_path / "out")


def test_a_source_without_a_tokenizer(source: Path, tmp_path: Path) -> None:
    (source / "tokenizer.json").rename(tmp_path / "elsewhere.json")
    with pytest.raises(ManifestError, match=r"has no tokenizer\.json.*--tokenizer"):
        embed(source, tmp_path / "out")
    assert embed(source, tmp_path / "out", tokenizer=tmp_path / "elsewhere.json")["max_length"] == 32


def test_a_source_without_a_graph(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/decoder.onnx").write_bytes(b"")
    with pytest.raises(GraphError, match=r"has no graph: no onnx/model\*\.onnx.*It has decoder\.onnx"):
        embed(tmp_path / "source", tmp_path / "out")


def test_a_source_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder, no \.onnx file, and no hub id"):
        embed(tmp_path / "absent", tmp_path / "out")


@pytest.mark.parametrize(("task", "dtype"), [("telepathy", "fp16"), ("feature-extraction", "q3")])
def test_names_that_do_not_exist(source: Path, tmp_path: Path, task: str, dtype: str) -> None:
    with pytest.raises(UnknownNameError, match="Known: "):
        pack(source, tmp_path / "out", task, variants={dtype: lambda model: (model, "")}, options=NO_BROWSER)


def test_a_bare_file_with_its_tokenizer_beside_it(source: Path, tmp_path: Path) -> None:
    manifest = embed(source / "onnx/model.onnx", tmp_path / "out")
    assert manifest["max_length"] == tiny_encoder.POSITIONS
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert (config["model_type"], config["hidden_size"], config["vocab_size"]) == ("bert", 16, 10)


def test_golden_samples_are_short_empty_not_ascii_and_as_long_as_may_be(source: Path, tmp_path: Path) -> None:
    manifest = embed(source, tmp_path / "out")
    texts = [sample["text"] for sample in manifest["golden"]]
    lengths = [sample["inputs"]["input_ids"]["dims"][1] for sample in manifest["golden"]]
    assert "" in texts
    assert any(not text.isascii() for text in texts)
    assert max(lengths) == manifest["max_length"] == 32
    assert lengths[0] < 32


def test_a_lower_limit_is_the_tokenizer_s_too(source: Path, tmp_path: Path) -> None:
    assert embed(source, tmp_path / "out", max_length=9)["max_length"] == 9
    assert json.loads((tmp_path / "out/tokenizer_config.json").read_text())["model_max_length"] == 9


TRUNCATION = {"direction": "Right", "max_length": 12, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "direction": "Right",
    "pad_id": 0,
    "pad_to_multiple_of": None,
    "pad_token": "[PAD]",
    "pad_type_id": 0,
    "strategy": {"Fixed": 12},
}


def test_padding_and_truncation_of_the_tokenizer_s_file_are_left_to_its_users(source: Path, tmp_path: Path) -> None:
    tokenizer = {**tiny_model.tokenizer(), "truncation": TRUNCATION, "padding": PADDING}
    (source / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert embed(source, tmp_path / "out")["max_length"] == 12
    written = json.loads((tmp_path / "out/tokenizer.json").read_text())
    assert written["padding"] is None
    assert written["truncation"] is None


def halved(model: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    """Every coordinate of the word table 10 % larger: a variant that differs a little."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    words = next(tensor for tensor in made.graph.initializer if tensor.name == "words")
    words.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(words) * np.float32(1.1), "words"))
    return made, "words made 10 % larger"


def test_variants_are_measured_against_fp32(source: Path, tmp_path: Path) -> None:
    manifest = pack(source, tmp_path / "out", "feature-extraction", variants={"q8": halved}, options=NO_BROWSER)
    fp32, q8 = manifest["variants"]["fp32"], manifest["variants"]["q8"]
    assert q8["method"] == "words made 10 % larger"
    assert fp32["agreement"] == {"max_abs_difference": 0.0}
    assert 0.001 < q8["agreement"]["max_abs_difference"] < 0.5
    assert NOT_CHECKED in q8["warnings"]
    assert (fp32["tolerance"], q8["tolerance"]) == (0.002, 0.05)
    assert manifest["parameters"] == 981


def test_a_variant_is_added_to_a_folder_and_replaced_there(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = embed(source, out)
    model = onnx.load(str(out / "onnx/model.onnx"))
    for method, digest in (("first", "a" * 16), ("second", "b" * 16)):
        entry = put_variant(out, "q8", halved(model)[0], method, [digest], browser=None)
        assert entry["method"] == method
    after = json.loads((out / "edgeinfer.json").read_text())
    assert after["variants"]["q8"] == entry
    assert after["variants"]["fp32"] == before["variants"]["fp32"]
    assert after["calibration"] == {"texts": 2, "digests": ["a" * 16, "b" * 16]}
    assert after["revision"] != before["revision"]
    ModelManifest.from_json((out / "edgeinfer.json").read_bytes(), "edgeinfer.json")
    external = json.loads((out / "config.json").read_text())["transformers.js_config"]["use_external_data_format"]
    assert set(external) == {"model.onnx", "model_quantized.onnx"}


def test_a_variant_of_another_interface_is_refused_and_the_folder_stays(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    embed(source, out)
    before = (out / "edgeinfer.json").read_bytes()
    with pytest.raises(
        GraphError, match="has the inputs attention_mask, input_ids, token_type_ids; the packed model attention_mask"
    ):
        put_variant(out, "q8", tiny_encoder.encoder(), "another model", browser=None)
    assert (out / "edgeinfer.json").read_bytes() == before
    assert not (out / "onnx/model_quantized.onnx").exists()


def test_variants_of_the_source_are_kept_where_that_is_asked_for(source: Path, tmp_path: Path) -> None:
    onnx.save(halved(tiny_encoder.encoder())[0], source / "onnx/model_quantized.onnx")
    for keep, method in ((False, "words made 10 % larger"), (True, "taken from the source: mean pooling")):
        options = Options(browser=None, keep_variants=keep)
        made = pack(source, tmp_path / "out", "feature-extraction", variants={"q8": halved}, options=options)
        assert made["variants"]["q8"]["method"].startswith(method)
        assert made["variants"]["q8"]["agreement"]["max_abs_difference"] > 0.001


def head(path: Path, name: str, features: int) -> Path:
    weights = np.random.default_rng(1).normal(size=(2, features)).astype(np.float32)
    labels = ("bad", "good")
    made = Head(name, labels, "single_label_classification", "sentence_embedding", weights, np.zeros(2, np.float32))
    path.write_text(head_json(made))
    return path


def test_heads_share_an_encoder_and_a_single_one_makes_a_classifier(source: Path, tmp_path: Path) -> None:
    heads = tuple(head(tmp_path / f"{name}.json", name, tiny_encoder.WIDTH) for name in ("mood", "topic"))
    both = embed(source, tmp_path / "both", heads=heads)
    assert [entry["name"] for entry in both["outputs"]] == [
        "sentence_embedding",
        "mood_logits",
        "topic_logits",
        "last_hidden_state",
    ]
    assert [(entry["name"], entry["labels"]) for entry in both["heads"]] == [
        (n, ["bad", "good"]) for n in ("mood", "topic")
    ]
    one = classify(source, tmp_path / "one", heads=heads[:1])
    assert [entry["name"] for entry in one["outputs"]] == ["logits"]
    assert one["labels"] == ["bad", "good"]
    golden = [manifest["variants"]["fp32"]["golden"][0] for manifest in (both, one)]
    assert golden[0]["mood_logits"]["data"] == pytest.approx(golden[1]["logits"]["data"], abs=1e-6)


def test_a_head_of_another_width_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mood"):
        embed(source, tmp_path / "out", heads=(head(tmp_path / "mood.json", "mood", 7),))


def test_a_source_of_a_quantized_graph_alone_is_taken_as_it_is(source: Path, tmp_path: Path) -> None:
    (source / "onnx/model.onnx").rename(source / "onnx/model_quantized.onnx")
    quantized = Options(browser=None, float32=False)
    made = pack(source, tmp_path / "out", "feature-extraction", variants={"q8": halved}, options=quantized)
    assert list(made["variants"]) == ["q8"]
    assert made["variants"]["q8"]["method"].startswith("taken from the source")
    with pytest.raises(GraphError, match="no fp32 graph to make fp16 from; it has q8"):
        pack(source, tmp_path / "out", "feature-extraction", variants={"fp16": halved}, options=quantized)


def test_weights_are_split_and_every_part_is_listed(source: Path, tmp_path: Path) -> None:
    manifest = embed(source, tmp_path / "out", split_mb=0.002)
    files = manifest["variants"]["fp32"]["files"]
    assert [file["path"] for file in files][:3] == ["onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1"]
    assert all(file["bytes"] <= 0.002 * 2**20 for file in files[1:])
    external = json.loads((tmp_path / "out/config.json").read_text())["transformers.js_config"]
    assert external["use_external_data_format"] == {"model.onnx": len(files) - 1}
    assert np.isfinite(run(tmp_path / "out", IDS)).all()


def test_the_same_inputs_give_the_same_bytes(source: Path, tmp_path: Path) -> None:
    for place in ("one", "two"):
        pack(source, tmp_path / place / "out", "feature-extraction", variants={"q8": halved}, options=NO_BROWSER)
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert len(one) == 8


def colours() -> onnx.ModelProto:
    """pixel_values [N, 3, 8, 8] -> two logits: mean red minus mean blue, and the other way round."""
    sides = np.array([[1, -1], [0, 0], [-1, 1]], np.float32)
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixel_values"], ["means"], name="means"),
        helper.make_node("Flatten", ["means"], ["flat"], name="flat"),
        helper.make_node("MatMul", ["flat", "sides"], ["scores"], name="scores"),
    ]
    pixels = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, 8, 8])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 2])
    return tiny_encoder.model(nodes, [pixels], [scores], {"sides": sides})


SCALING = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "resample": 2,
    "rescale_factor": 1 / 255,
    "size": {"height": 8, "width": 8},
}


def test_pictures_of_any_size_go_in_as_pixels(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    onnx.save(colours(), source / "model.onnx")
    (source / "preprocessor_config.json").write_text(json.dumps(SCALING))
    options = Options(browser=None, labels=("red", "blue"))
    manifest = pack(source, tmp_path / "out", "image-classification", variants={}, options=options)
    assert manifest["inputs"] == [{"name": "pixels", "dtype": "uint8", "dims": ["batch_size", "height", "width", 3]}]
    assert (manifest["labels"], manifest["max_length"]) == (["red", "blue"], 0)
    pixels = np.zeros((1, 31, 17, 3), np.uint8)
    pixels[..., 0] = 255
    session = open_session(tmp_path / "out/onnx/model.onnx")
    assert np.allclose(answers(session, [{"pixels": pixels}])[0]["logits"], [[2, -2]], atol=1e-5)


def test_pictures_without_their_configuration(tmp_path: Path) -> None:
    onnx.save(colours(), tmp_path / "model.onnx")
    with pytest.raises(ManifestError, match=r"has no preprocessor_config\.json"):
        pack(tmp_path / "model.onnx", tmp_path / "out", "image-classification", variants={}, options=NO_BROWSER)


#: A limit on the size of files makes a write fail half way, as a full disk does.
LIMITED = """
import resource, signal, sys
from edgeinfer_browser.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
sys.exit(main(["pack", sys.argv[1], sys.argv[2], "--task", "feature-extraction", "--dtypes", "fp32",
               "--skip-browser-check"]))
"""


def test_a_disk_that_fills_half_way_leaves_nothing(source: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-c", LIMITED, str(source), str(place / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "OutputError" in done.stderr
    assert "Nothing half-written was left" in done.stderr
    assert list(place.iterdir()) == []
