"""Triton's client of the Open Inference Protocol against the real server: health, metadata, JSON and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from edgeinfer_browser.headless.serving import serving
from tests.unit import server_models

triton = pytest.importorskip("tritonclient.http")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    server_models.tiny(folder)
    server_models.kinds(folder)
    return folder


@pytest.fixture(scope="module")
def client(models: Path) -> Iterator[Any]:
    with serving(models) as url:
        client = triton.InferenceServerClient(url.removeprefix("http://").rstrip("/"))
        yield client
        client.close()


def test_health(client: Any, models: Path) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("tiny")
    assert client.is_model_ready("tiny", server_models.revision(models / "tiny"))
    assert not client.is_model_ready("nothing")
    assert not client.is_model_ready("tiny", "1")


def test_metadata(client: Any, models: Path) -> None:
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    told = client.get_model_metadata("tiny")
    assert told["platform"] == "onnxruntime_onnx"
    assert told["versions"] == [server_models.revision(models / "tiny")]
    assert told["inputs"][0] == {"name": "input_ids", "datatype": "INT64", "shape": [-1, -1]}
    assert told["outputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, 2]}]


@pytest.mark.parametrize("binary_in", [False, True], ids=["JSON in", "bytes in"])
@pytest.mark.parametrize("binary_out", [False, True], ids=["JSON out", "bytes out"])
def test_infer_gives_what_native_onnx_runtime_gives(
    client: Any, models: Path, *, binary_in: bool, binary_out: bool
) -> None:
    ids = np.random.default_rng(1).integers(0, 10, (5, 7))
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    session = onnxruntime.InferenceSession(models / "tiny/onnx/model_quantized.onnx")
    inputs = []
    for name, values in feeds.items():
        inputs.append(triton.InferInput(name, values.shape, "INT64"))
        inputs[-1].set_data_from_numpy(values, binary_data=binary_in)
    wanted = triton.InferRequestedOutput("logits", binary_data=binary_out)
    answer = client.infer("tiny", inputs, outputs=[wanted], request_id="42")
    np.testing.assert_array_equal(answer.as_numpy("logits"), session.run(["logits"], feeds)[0])
    assert answer.get_response()["id"] == "42"
    assert ("data" in answer.get_output("logits")) == (not binary_out)


def test_outputs_that_were_not_named_come_as_bytes(client: Any) -> None:
    values: dict[str, np.ndarray[Any, Any]] = {
        "real": np.array([[1.5, -2.0]], np.float32),
        "half": np.array([[0.5, 4.0]], np.float16),
        "byte": np.array([[0, 255]], np.uint8),
        "flag": np.array([[True, False]]),
    }
    inputs = []
    for name, each in values.items():
        datatype = {"real": "FP32", "half": "FP16", "byte": "UINT8", "flag": "BOOL"}[name]
        inputs.append(triton.InferInput(name, each.shape, datatype))
        inputs[-1].set_data_from_numpy(each)
    answer = client.infer("kinds", inputs)
    for name, each in values.items():
        np.testing.assert_array_equal(answer.as_numpy(f"{name}_out"), each)
    np.testing.assert_array_equal(answer.as_numpy("ratio"), 1 / values["real"])


def test_a_refusal_has_the_server_s_words(client: Any) -> None:
    inputs = [triton.InferInput("input_ids", [1], "INT64")]
    inputs[0].set_data_from_numpy(np.array([1]))
    with pytest.raises(triton.InferenceServerException, match="'input_ids' is INT64 of shape"):
        client.infer("tiny", inputs)
    with pytest.raises(triton.InferenceServerException, match="There is no model 'nothing' here"):
        client.infer("nothing", inputs)
