"""The Open Inference Protocol: each route, each way to send and ask for tensors, each refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from edgeinfer_browser.server import create_app
from edgeinfer_browser.tensors import Tensor
from edgeinfer_browser.wire import HEADER_LENGTH, infer_request, parse_message
from tests.unit import server_models

INFER = "/v2/models/tiny/infer"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    server_models.tiny(folder)
    server_models.kinds(folder)
    return folder


@pytest.fixture(scope="module")
def client(models: Path) -> Iterator[TestClient]:
    with TestClient(create_app(models)) as client:
        yield client


def ids(*rows: list[int]) -> dict[str, Tensor]:
    flat = [token for row in rows for token in row]
    dims = (len(rows), len(rows[0]))
    return {
        "input_ids": Tensor.from_values("int64", dims, flat),
        "attention_mask": Tensor.from_values("int64", dims, [1] * len(flat)),
    }


def as_json(**head: Any) -> dict[str, Any]:
    """ "good" and "bad" as a JSON request."""
    shape = {"shape": [2, 3], "datatype": "INT64"}
    return {
        "inputs": [
            {"name": "input_ids", **shape, "data": [2, 4, 3, 2, 6, 3]},
            {"name": "attention_mask", **shape, "data": [[1, 1, 1], [1, 1, 1]]},
        ],
        **head,
    }


def outputs(response: httpx2.Response) -> dict[str, Tensor]:
    assert response.status_code == 200, response.text
    _, tensors = parse_message(response.content, response.headers.get(HEADER_LENGTH), "outputs")
    return tensors


def refused(response: httpx2.Response, status: int) -> str:
    """The message of a refusal, which is JSON with nothing but the message."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert list(answer) == ["error"]
    return str(answer["error"])


def test_the_server_tells_its_name_and_extensions(client: TestClient) -> None:
    answer = client.get("/v2").json()
    assert answer["name"] == "edgeinfer_browser"
    assert answer["extensions"] == ["binary_tensor_data"]


def test_health(client: TestClient, models: Path) -> None:
    version = server_models.revision(models / "tiny")
    for path in ("health/live", "health/ready", "models/tiny/ready", f"models/tiny/versions/{version}/ready"):
        assert client.get(f"/v2/{path}").status_code == 200
        assert client.head(f"/v2/{path}").status_code == 200


def test_metadata_is_the_session_s(client: TestClient, models: Path) -> None:
    version = server_models.revision(models / "tiny")
    wanted = {
        "name": "tiny",
        "versions": [version],
        "platform": "onnxruntime_onnx",
        "inputs": [
            {"name": "input_ids", "datatype": "INT64", "shape": [-1, -1]},
            {"name": "attention_mask", "datatype": "INT64", "shape": [-1, -1]},
        ],
        "outputs": [{"name": "logits", "datatype": "FP32", "shape": [-1, 2]}],
    }
    assert client.get("/v2/models/tiny").json() == wanted
    assert client.get(f"/v2/models/tiny/versions/{version}").json() == wanted


@pytest.mark.parametrize("path", ["/v2/models/tin", "/v2/models/tin/ready", "/v2/models/tiny/versions/1"])
def test_an_unknown_model_or_version(client: TestClient, path: str) -> None:
    assert "tiny" in refused(client.get(path), 404)


def test_infer_at_an_unknown_model_or_version(client: TestClient) -> None:
    assert refused(client.post("/v2/models/tin/infer", json=as_json()), 404) == (
        "There is no model 'tin' here. Served: kinds, tiny."
    )
    refused(client.post("/v2/models/tiny/versions/1/infer", json=as_json()), 404)


@pytest.mark.parametrize("path", ["/", "/v2/", "/v3", "/v2/models", "/v2/models/tiny/infer/", "/index.html"])
def test_an_unknown_path(client: TestClient, path: str) -> None:
    refused(client.get(path), 404)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", INFER, "POST"),
        ("PUT", INFER, "POST"),
        ("OPTIONS", INFER, "POST"),
        ("POST", "/v2", "GET, HEAD"),
        ("DELETE", "/v2/models/tiny", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_allowed(client: TestClient, method: str, path: str, allowed: str) -> None:
    response = client.request(method, path)
    refused(response, 405)
    assert response.headers["allow"] == allowed


def test_json_in_and_out(client: TestClient, models: Path) -> None:
    response = client.post(INFER, json=as_json(id="42"))
    assert response.json() == {
        "id": "42",
        "model_name": "tiny",
        "model_version": server_models.revision(models / "tiny"),
        "outputs": [{"name": "logits", "datatype": "FP32", "shape": [2, 2], "data": [-1.0, 1.0, 1.0, -1.0]}],
    }


def test_without_an_id_none_comes_back(client: TestClient) -> None:
    assert "id" not in client.post(INFER, json=as_json()).json()


def test_bytes_in_and_out(client: TestClient) -> None:
    body, headers = infer_request(ids([2, 4, 3], [2, 6, 3]))
    response = client.post(INFER, content=body, headers=headers)
    assert response.headers["content-type"] == "application/octet-stream"
    assert outputs(response)["logits"].rows() == [[-1.0, 1.0], [1.0, -1.0]]


def test_json_in_and_bytes_out_by_output(client: TestClient) -> None:
    wanted = [{"name": "logits", "parameters": {"binary_data": True}}]
    response = client.post(INFER, json=as_json(outputs=wanted))
    assert HEADER_LENGTH in response.headers
    assert outputs(response)["logits"].rows() == [[-1.0, 1.0], [1.0, -1.0]]


def test_bytes_in_and_json_out(client: TestClient) -> None:
    body, headers = infer_request(ids([2, 4, 3]))
    cut = int(headers[HEADER_LENGTH])
    head = json.dumps({**json.loads(body[:cut]), "parameters": {}}).encode()
    response = client.post(INFER, content=head + body[cut:], headers={**headers, HEADER_LENGTH: str(len(head))})
    assert response.json()["outputs"][0]["data"] == [-1.0, 1.0]


def kinds_request(**head: Any) -> dict[str, Any]:
    inputs = {"real": ("FP32", [1.0, 2.0]), "half": ("FP16", [0.5, 1.5]), "byte": ("UINT8", [0, 255])}
    entries = [{"name": n, "shape": [1, 2], "datatype": t, "data": d} for n, (t, d) in inputs.items()]
    entries.append({"name": "flag", "shape": [1, 2], "datatype": "BOOL", "data": [True, False]})
    return {"inputs": entries, **head}


def test_outputs_are_those_asked_for_in_that_order_each_as_asked(client: TestClient) -> None:
    wanted = [
        {"name": "flag_out", "parameters": {"binary_data": False}},
        {"name": "half_out"},
        {"name": "byte_out"},
    ]
    request = kinds_request(outputs=wanted, parameters={"binary_data_output": True})
    response = client.post("/v2/models/kinds/infer", json=request)
    values = {name: list(tensor.values()) for name, tensor in outputs(response).items()}
    assert values == {"flag_out": [True, False], "half_out": [0.5, 1.5], "byte_out": [0, 255]}
    assert list(values) == ["flag_out", "half_out", "byte_out"]
    head = json.loads(response.content[: int(response.headers[HEADER_LENGTH])])
    assert ["data" in entry for entry in head["outputs"]] == [True, False, False]


def test_all_outputs_when_none_is_named(client: TestClient) -> None:
    answer = client.post("/v2/models/kinds/infer", json=kinds_request()).json()
    assert [o["name"] for o in answer["outputs"]] == ["real_out", "half_out", "byte_out", "flag_out", "ratio"]
    assert [o["datatype"] for o in answer["outputs"]] == ["FP32", "FP16", "UINT8", "BOOL", "FP32"]


def test_the_revision_that_is_served_is_taken(client: TestClient, models: Path) -> None:
    version = server_models.revision(models / "tiny")
    assert client.post(INFER, json=as_json(parameters={"revision": version})).status_code == 200
    assert client.post(f"/v2/models/tiny/versions/{version}/infer", json=as_json()).status_code == 200


def test_another_revision_is_a_conflict_that_names_both(client: TestClient, models: Path) -> None:
    said = refused(client.post(INFER, json=as_json(parameters={"revision": "older"})), 409)
    assert "older" in said
    assert server_models.revision(models / "tiny") in said


def changed(index: int, **changes: Any) -> dict[str, Any]:
    request = as_json()
    request["inputs"][index].update(changes)
    return request


@pytest.mark.parametrize(
    ("request_json", "said"),
    [
        ({"inputs": as_json()["inputs"][:1]}, "Input 'attention_mask' is missing; expected is INT64 of shape [-1, -1]"),
        (changed(0, name="ids"), "Unknown input 'ids'. Known: attention_mask, input_ids."),
        (changed(0, datatype="INT32"), "Input 'input_ids' is INT32 of shape [2, 3]; expected is INT64"),
        (changed(0, shape=[6]), "Input 'input_ids' is INT64 of shape [6]; expected is INT64 of shape [-1, -1]"),
        (changed(0, shape=[2, 1, 3]), "Input 'input_ids' is INT64 of shape [2, 1, 3]"),
        (changed(1, shape=[3, 2]), "Input 'attention_mask' has shape [3, 2], but its axis 'batch_size' has size 2"),
        (changed(1, shape=[2, 2], data=[1] * 4), "its axis 'sequence_length' has size 3 in 'input_ids'; expected is 3"),
        (as_json(id=7), '"id" must be a string'),
        (as_json(parameters=[]), '"parameters" must be an object'),
        (as_json(parameters={"binary_data_output": "yes"}), "must be true or false"),
        (as_json(outputs={"name": "logits"}), '"outputs" must be a list of objects'),
        (as_json(outputs=["logits"]), '"outputs" must be a list of objects'),
        (as_json(outputs=[{"name": "scores"}]), "Unknown output 'scores'. Known: logits."),
        (as_json(outputs=[{}]), "Unknown output None"),
        (as_json(outputs=[{"name": ["logits"]}]), "Unknown output ['logits']"),
        (as_json(outputs=[{"name": "logits", "parameters": 1}]), "Output 'logits'"),
        (as_json(outputs=[{"name": "logits", "parameters": {"binary_data": 1}}]), "must be true or false"),
        (as_json(outputs=[{"name": "logits", "parameters": {"classification": 2}}]), "classification extension"),
        ({}, "inputs"),
        ([], "not an object"),
        ({"inputs": [{"name": "\ud83d"}]}, "'\\ud83d'"),
    ],
)
def test_a_bad_request_is_told_what_is_expected(client: TestClient, request_json: Any, said: str) -> None:
    assert said in refused(client.post(INFER, content=json.dumps(request_json)), 400)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_not_json(client: TestClient, body: bytes) -> None:
    refused(client.post(INFER, content=body), 400)


@pytest.mark.parametrize("length", ["", "x", "-1", "99999999", "3"])
def test_a_wrong_header_length(client: TestClient, length: str) -> None:
    body, headers = infer_request(ids([2, 4, 3]))
    refused(client.post(INFER, content=body, headers={**headers, HEADER_LENGTH: length}), 400)


def test_a_run_that_fails_is_a_500_and_the_session_goes_on(client: TestClient) -> None:
    body, headers = infer_request(ids([2, 999_999, 3]))
    said = refused(client.post(INFER, content=body, headers=headers), 500)
    assert "rejected the run" in said
    assert client.post(INFER, json=as_json()).status_code == 200


def test_values_that_are_not_finite_are_a_500(client: TestClient) -> None:
    request = kinds_request()
    request["inputs"][0]["data"] = [0.0, 1.0]
    assert "not finite" in refused(client.post("/v2/models/kinds/infer", json=request), 500)


def test_a_fault_of_the_server_s_own_is_a_500_that_tells_and_logs_no_text(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr("edgeinfer_browser.server.oip.check_feeds", fail)
    assert "secret" not in refused(client.post(INFER, json=as_json()), 500)
    assert "KeyError" in caplog.text
    assert "secret" not in caplog.text.replace('raise KeyError("a secret")', "")
