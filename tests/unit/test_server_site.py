"""The static site: media types, isolation, caching, links; and nothing outside the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.server import create_app
from tests.unit import server_models
from tests.unit.test_server_oip import as_json, refused

FILES = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "ort.mjs": "text/javascript; charset=utf-8",
    "ort.wasm": "application/wasm",
    "data.json": "application/json",
    "app.webmanifest": "application/manifest+json",
    "icon.svg": "image/svg+xml",
    "package.whl": "application/octet-stream",
    "model.onnx": "application/octet-stream",
    "model.onnx_data": "application/octet-stream",
    "no_suffix": "application/octet-stream",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    (root / "secret.txt").write_text("secret")
    (root / "models").mkdir()
    server_models.tiny(root / "models")
    site = root / "site"
    (site / "guide").mkdir(parents=True)
    (site / "empty").mkdir()
    (site / "guide/index.html").write_text("<title>guide</title>")
    (site / ".env").write_text("secret")
    (site / ".git").mkdir()
    (site / ".git/config").write_text("secret")
    for name in FILES:
        (site / name).write_text(f"this is {name}")
    (site / "models").symlink_to(root / "models", target_is_directory=True)
    return root


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[TestClient]:
    app = create_app(root / "models", site=root / "site", api_prefix="/api")
    with TestClient(app, follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize(("name", "media_type"), FILES.items())
def test_a_file_has_its_media_type_and_headers(client: TestClient, name: str, media_type: str) -> None:
    answer = client.get(f"/{name}")
    assert (answer.status_code, answer.text) == (200, f"this is {name}")
    told = {key: answer.headers[key] for key in answer.headers if key not in {"etag", "last-modified"}}
    assert told == {
        "content-type": media_type,
        "content-length": str(len(answer.content)),
        "accept-ranges": "bytes",
        "cache-control": "no-cache",
        "cross-origin-embedder-policy": "require-corp",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
    }


def test_the_index_is_at_the_root_and_of_a_folder(client: TestClient) -> None:
    assert client.get("/").text == "this is index.html"
    assert client.get("/guide/").text == "<title>guide</title>"
    assert client.get("/guide").headers["location"].endswith("/guide/")


def test_a_file_that_did_not_change_is_not_sent_again(client: TestClient) -> None:
    etag = client.get("/ort.wasm").headers["etag"]
    answer = client.get("/ort.wasm", headers={"If-None-Match": etag})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["cross-origin-embedder-policy"] == "require-corp"


def test_a_part_of_a_file(client: TestClient) -> None:
    answer = client.get("/model.onnx", headers={"Range": "bytes=0-3"})
    assert (answer.status_code, answer.text) == (206, "this")


def test_links_are_followed(client: TestClient, root: Path) -> None:
    told = client.get("/models/tiny/edgeinfer.json")
    assert told.json()["revision"] == server_models.revision(root / "models/tiny")
    assert client.get("/models/tiny/onnx/model_quantized.onnx").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/missing.html",
        "/empty/",
        "/models/",
        "/models/tiny",
        "/.env",
        "/.git/config",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/guide/..%2f..%2fsecret.txt",
        "/%2e%2e%5csecret.txt",
        "//etc/passwd",
        "/%00",
        "/" + "a" * 5000,
        "/api",
        "/api/",
        "/api/index.html",
        "/v2",
    ],
)
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    refused(client.get(path), 404)


def test_the_site_takes_get_and_head(client: TestClient) -> None:
    assert client.head("/index.html").status_code == 200
    refused(client.post("/index.html"), 405)


def test_the_api_is_below_its_prefix(client: TestClient) -> None:
    assert client.post("/api/predict", json={"inputs": "good"}).json()[0]["label"] == "positive"
    assert client.post("/api/v2/models/tiny/infer", json=as_json()).status_code == 200
    refused(client.get("/api/predict"), 405)


@pytest.mark.parametrize("prefix", ["/", "", "api", "/api/", "/a/b"])
def test_any_prefix_and_a_site(root: Path, prefix: str) -> None:
    app = create_app(root / "models", site=root / "site", api_prefix=prefix)
    base = f"/{prefix.strip('/')}".rstrip("/")
    with TestClient(app) as client:
        assert client.get(f"{base}/v2/health/ready").status_code == 200
        refused(client.get(f"{base}/predict"), 405)
        assert client.get("/").text == "this is index.html"


def test_a_site_that_is_not_there(root: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        create_app(root / "models", site=root / "nowhere")
