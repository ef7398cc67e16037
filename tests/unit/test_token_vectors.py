"""The vectors of tokens beside an embedding: there for who asks, and asked for by none of our own sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from starlette.testclient import TestClient

from edgeinfer_browser import pipeline
from edgeinfer_browser.backends.onnxruntime_native import OnnxRuntimeNative
from edgeinfer_browser.backends.remote import Remote
from edgeinfer_browser.bridge_native import NativeBridge
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.errors import InputError, IntegrityError
from edgeinfer_browser.manifest import ModelManifest
from edgeinfer_browser.packing.head_file import Head, head_json
from edgeinfer_browser.packing.native import answers, open_session
from edgeinfer_browser.packing.pack import Options, pack
from edgeinfer_browser.packing.pooling import Pooling
from edgeinfer_browser.server import create_app
from edgeinfer_browser.tensors import Tensor
from tests import tiny_encoder
from tests.unit.fakes import API, BASE, FakeBridge, facts, feeds

WANTED = ("sentence_embedding", "mood_logits")
NAMES = [*WANTED, "last_hidden_state"]
IDS = [2, 4, 5, 3]


def made(source: Path, out: Path, pooling: Pooling | None = None, heads: tuple[Path, ...] = ()) -> Path:
    """Pack a source for feature-extraction."""
    options = Options(browser=None, pooling=pooling, heads=heads)
    pack(source, out, "feature-extraction", variants={}, options=options)
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder with a head, packed."""
    there = tmp_path_factory.mktemp("token_vectors")
    weights = np.ones((2, tiny_encoder.WIDTH), np.float32)
    labels, bias = ("bad", "good"), np.zeros(2, np.float32)
    head = Head("mood", labels, "single_label_classification", "sentence_embedding", weights, bias)
    (there / "mood.json").write_text(head_json(head))
    return made(tiny_encoder.write(there / "source"), there / "models/encoder", heads=(there / "mood.json",))


def manifest_of(folder: Path) -> dict[str, Any]:
    source: dict[str, Any] = json.loads((folder / "edgeinfer.json").read_text())
    return source


def run(folder: Path, *outputs: str) -> dict[str, npt.NDArray[Any]]:
    given = {"input_ids": np.array([IDS]), "attention_mask": np.ones((1, len(IDS)), np.int64)}
    return answers(open_session(folder / "onnx/model.onnx"), [given], outputs)[0]


def test_the_graph_gives_them_last_and_the_manifest_keeps_no_golden_ones(folder: Path) -> None:
    source = manifest_of(folder)
    assert [entry["name"] for entry in source["outputs"]] == NAMES
    assert [set(golden) for golden in source["variants"]["fp32"]["golden"]] == [set(WANTED)] * len(source["golden"])
    assert ModelManifest.from_json(json.dumps(source), "m").wanted_outputs == WANTED


def test_they_are_what_the_embedding_was_pooled_from(folder: Path) -> None:
    mean = run(folder, "last_hidden_state")["last_hidden_state"][0].mean(axis=0)
    assert np.allclose(run(folder)["sentence_embedding"][0], mean / np.linalg.norm(mean), atol=1e-6)
    assert tuple(run(folder)) == WANTED


def with_embedding(kind: int) -> onnx.ModelProto:
    """The tiny encoder as sentence-transformers exports one: token_embeddings, and an embedding twice its first."""
    source = tiny_encoder.encoder()
    hidden = [
        helper.make_node("Cast", ["last_hidden_state"], ["token_embeddings"], to=kind),
        helper.make_node("Slice", ["last_hidden_state", "zeros", "ones", "axes"], ["start"]),
        helper.make_node("ReduceSum", ["start", "axes"], ["start_vector"], keepdims=0),
        helper.make_node("Add", ["start_vector", "start_vector"], ["sentence_embedding"]),
    ]
    source.graph.node.extend(hidden)
    for name, value in (("zeros", 0), ("ones", 1), ("axes", 1)):
        source.graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [1], [value]))
    dims: list[str | int] = ["batch", "sequence", tiny_encoder.WIDTH]
    tokens = helper.make_tensor_value_info("token_embeddings", kind, dims)
    vector = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [dims[0], dims[2]])
    del source.graph.output[:]
    source.graph.output.extend([tokens, vector])
    return source


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_an_embedding_that_the_source_gives_stays_and_its_tokens_get_the_name_that_is_read(
    folder: Path, tmp_path: Path, kind: int
) -> None:
    out = made(tiny_encoder.write(tmp_path / "source", with_embedding(kind)), tmp_path / "out")
    found, plain = run(out, "sentence_embedding", "last_hidden_state"), run(folder, "last_hidden_state")
    tokens = plain["last_hidden_state"]
    assert found["last_hidden_state"].dtype == np.float32
    assert np.allclose(found["last_hidden_state"], tokens, atol=1e-6 if kind == TensorProto.FLOAT else 1e-2)
    first = tokens[0, 0] / np.linalg.norm(tokens[0, 0])
    assert np.allclose(found["sentence_embedding"][0], first, atol=1e-6)


async def test_the_native_tier_gives_them_by_name_alone(folder: Path) -> None:
    files = await ModelFolder.at(str(folder), NativeBridge())
    backend = OnnxRuntimeNative(files, await files.manifest("feature-extraction"), "fp32")
    await backend.load()
    assert tuple(await backend.run(feeds(*IDS))) == WANTED
    assert list(await backend.run(feeds(*IDS), ["last_hidden_state"])) == ["last_hidden_state"]
    await backend.close()


async def test_a_session_in_the_browser_and_a_server_are_told_what_to_give(folder: Path) -> None:
    source = {f"{BASE}{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    golden = {name: Tensor.from_numpy(array) for name, array in run(folder).items()}
    bridge = FakeBridge(source, facts=facts(gpu={"present": False}), answer=lambda _: golden)
    pipe = await pipeline("feature-extraction", model=BASE, bridge=bridge, api=API)
    assert {spec.outputs for spec in bridge.specs} <= {WANTED}
    manifest = ModelManifest.from_json((folder / "edgeinfer.json").read_bytes(), "m")
    await Remote(bridge, API, "encoder", manifest).run(feeds(*IDS))
    assert b'"outputs": [{"name": "sentence_embedding"}, {"name": "mood_logits"}]' in bridge.requests[-1].body
    await pipe.close()


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app(folder.parent)) as client:
        yield client


@pytest.mark.parametrize(("asked", "given"), [([], NAMES), (NAMES[2:], NAMES[2:]), (NAMES[:1], NAMES[:1])])
def test_the_protocol_gives_what_is_named_and_all_when_nothing_is(
    client: TestClient, asked: list[str], given: list[str]
) -> None:
    tensors = {"input_ids": IDS, "attention_mask": [1] * len(IDS)}
    inputs = [{"name": name, "shape": [1, 4], "datatype": "INT64", "data": data} for name, data in tensors.items()]
    request = {"inputs": inputs, "outputs": [{"name": name} for name in asked]}
    answer = client.post("/v2/models/encoder/infer", json=request).json()
    assert [output["name"] for output in answer["outputs"]] == given


SOURCES = {
    "mean": "",
    "cls": '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}',
}


@pytest.mark.parametrize("kind", ["mean", "cls"])
async def test_a_folder_packed_without_pooling_is_pooled_as_its_source_says(tmp_path: Path, kind: Any) -> None:
    source = tiny_encoder.write(tmp_path / "source")
    if SOURCES[kind]:
        (source / "1_Pooling").mkdir()
        (source / "1_Pooling/config.json").write_text(SOURCES[kind])
    tokens = await pipeline("feature-extraction", model=str(made(source, tmp_path / "tokens", "none")))
    inside = await pipeline("feature-extraction", model=str(made(source, tmp_path / "inside")))
    text = "good film"
    assert await tokens(text) == pytest.approx(await inside(text), abs=1e-6)
    assert len(await tokens(text, pooling="none")) == 4
    [note] = tokens.info.notes
    assert note.startswith("Packed with --pooling none")
    assert ("as 1_Pooling says" in note) == (kind == "cls")
    with pytest.raises(InputError, match="pools in its graph"):
        await inside(text, pooling=kind)


async def test_how_to_pool_is_verified_too(tmp_path: Path) -> None:
    source = tiny_encoder.write(tmp_path / "source")
    (source / "1_Pooling").mkdir()
    (source / "1_Pooling/config.json").write_text(SOURCES["cls"])
    out = made(source, tmp_path / "out", "none")
    (out / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
    with pytest.raises(IntegrityError):
        await pipeline("feature-extraction", model=str(out))
