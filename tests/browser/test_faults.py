"""Models and APIs that are broken, and tiers that cannot be: one clear error or the next tier, never a hang."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route

from edgeinfer_browser import ContentError, EdgeInferError, NoBackendError, NotFoundError, RateLimitedError, RemoteError
from tests.browser.client import Client, tried

HTML = "<!DOCTYPE html><html><body>The app</body></html>"
MANIFEST = "**/models/tiny/edgeinfer.json"
GRAPH = "**/models/tiny/onnx/model_quantized.onnx"


def _answers(status: int, body: str = "", **headers: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(
        status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


@pytest.mark.parametrize(
    ("path", "status", "body", "error", "says"),
    [
        ("**/models/tiny/*.json", 404, "", NotFoundError, "edgeinfer.json was not found"),
        ("**/models/tiny/*.json", 200, HTML, ContentError, "HTML page instead of the file"),
        ("**/models/tiny/*.json", 200, "", ContentError, "is empty"),
    ],
)
def test_a_model_url_that_is_wrong_says_how(
    client: Client, context: BrowserContext, path: str, status: int, body: str, error: type[Exception], says: str
) -> None:
    context.route(path, _answers(status, body))
    with pytest.raises(error, match=says):
        client.load("tiny")
    context.unroute(path)
    assert client.load("tiny")["tier"] == "wasm"


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (404, "", "NotFoundError"),
        (200, HTML, "ContentError"),
        (200, "", "ContentError"),
        (200, "truncated", "IntegrityError"),
        (200, "version https://git-lfs.github.com/spec/v1", "Git-LFS"),
    ],
)
def test_a_broken_model_file_gives_way_to_the_api_with_the_reason(
    client: Client, context: BrowserContext, status: int, body: str, says: str
) -> None:
    context.route(GRAPH, _answers(status, body))
    info = client.load("tiny")
    assert info["tier"] == "api"
    assert says in tried(info, "wasm")
    assert "model_quantized.onnx" in tried(info, "wasm")
    assert client.call("good film")[0][0]["label"] == "positive"


def test_without_an_api_a_broken_model_file_is_one_error_that_lists_every_attempt(
    client: Client, context: BrowserContext
) -> None:
    context.route(GRAPH, _answers(404))
    with pytest.raises(NoBackendError, match="webgpu: ") as caught:
        client.load("tiny", api=None)
    assert "NotFoundError" in str(caught.value)
    context.unroute(GRAPH)
    assert client.load("tiny", api=None)["tier"] == "wasm"


def test_a_runtime_file_that_is_missing_is_named(client: Client, context: BrowserContext) -> None:
    context.route("**/ort-wasm-simd-threaded.wasm", _answers(404))
    info = client.load("tiny")
    assert info["tier"] == "api"
    assert "ort-wasm-simd-threaded.wasm cannot be used: the server answered 404" in tried(info, "wasm")


@pytest.mark.parametrize("options", [{"tier": "api"}, {"policy": "only-remote"}])
@pytest.mark.parametrize(
    ("status", "body", "error", "says"),
    [
        (500, '{"error": "out of memory"}', RemoteError, "500: out of memory"),
        (429, '{"error": "slow down"}', RateLimitedError, "slow down"),
        (200, "what?", RemoteError, "not with labels"),
        (200, '[{"wrong": 1}]', RemoteError, "not with labels"),
        (200, HTML, RemoteError, "not with labels"),
        (404, HTML, RemoteError, "404"),
    ],
)
def test_an_api_that_fails_says_how_and_may_work_later(
    client: Client,
    context: BrowserContext,
    options: dict[str, str],
    status: int,
    body: str,
    error: type[Exception],
    says: str,
) -> None:
    assert client.load("tiny", **options)["tier"] == "api"
    context.route("**/api/predict", _answers(status, body))
    with pytest.raises(error, match=says):
        client.call("good")
    context.unroute("**/api/predict")
    assert client.call("good")[0][0]["label"] == "positive"


def test_an_api_that_is_down_says_so(client: Client, context: BrowserContext) -> None:
    assert client.load("tiny", tier="api")["tier"] == "api"
    context.route("**/api/predict", lambda route: route.abort("connectionrefused"))
    with pytest.raises(RemoteError, match="gave no answer"):
        client.call("good")
    context.unroute("**/api/predict")
    assert client.call("good")[0][0]["label"] == "positive"


@pytest.mark.parametrize(("status", "body"), [(500, "{}"), (200, "what?"), (429, "{}")])
def test_a_failing_api_gives_way_to_the_local_tier(
    client: Client, context: BrowserContext, status: int, body: str
) -> None:
    context.route("**/api/v2/**", _answers(status, body))
    assert client.load("tiny", policy="prefer-remote")["tier"] == "api"
    labels, info = client.call("good film")
    assert info["last"]["tier"] == "wasm"
    assert labels[0]["label"] == "positive"
    assert "Error" in tried(info, "api")


def test_retry_after_is_honoured(client: Client, context: BrowserContext) -> None:
    seen: list[int] = []

    def busy_once(route: Route) -> None:
        seen.append(1)
        if len(seen) > 1:
            route.continue_()
        else:
            route.fulfill(status=429, body="{}", headers={"Retry-After": "1"})

    context.route("**/api/predict", busy_once)
    client.load("tiny", tier="api")
    milliseconds = client.evaluate(
        "async () => { const t = performance.now(); await pipeline('x'); return performance.now() - t; }"
    )
    assert len(seen) == 2
    assert milliseconds >= 1000


def test_only_local_without_a_local_tier_is_an_error_with_every_reason(context: BrowserContext) -> None:
    context.add_init_script("delete globalThis.WebAssembly")
    page = context.new_page()
    page.goto("blank.html")
    with pytest.raises(NoBackendError, match="WebAssembly cannot be used here"):
        Client(page).load("tiny", policy="only-local")


def test_a_python_that_cannot_start_is_an_error_that_names_the_file(client: Client, context: BrowserContext) -> None:
    context.route("**/*.whl", _answers(404))
    with pytest.raises(NotFoundError, match=r"\.whl answered 404"):
        client.load("tiny")
    context.unroute("**/*.whl")
    assert client.load("tiny")["tier"] == "wasm"


def test_only_local_on_a_device_without_simd_lists_the_reasons(
    launch_chromium: Callable[..., object], site_url: str
) -> None:
    browser = launch_chromium("--js-flags=--no-enable-sse4-1 --no-enable-sse3 --no-enable-ssse3")
    with browser.new_context(base_url=site_url) as made:  # type: ignore[attr-defined]
        page: Page = made.new_page()
        page.goto("blank.html")
        with pytest.raises(NoBackendError, match=r"wasm: .*SIMD"):
            Client(page).load("tiny", policy="only-local")


@pytest.mark.parametrize("script", ["python_worker.js", "session_worker.js"])
def test_a_worker_that_dies_is_replaced(
    client: Client, instrument: Callable[[str, str], str], site: Path, script: str
) -> None:
    # The worker asks at each message whether to die: an uncaught error, which ends it for its owner.
    mortal = """addEventListener("message", async () => {
      if ((await (await fetch("/doom.txt")).text()) === "yes") setTimeout(() => { throw new Error("doomed"); });
    });"""
    doom = site / "doom.txt"
    doom.write_text("no")
    assert client.load("tiny", api=None, runtime=instrument(script, mortal))["tier"] == "wasm"
    doom.write_text("yes")
    deaths = [_death(client) for _ in range(4)]
    assert any("died" in death for death in deaths)
    doom.write_text("no")
    _death(client)
    answers = client.evaluate("() => Promise.all(['good film', 'awful film'].map((text) => pipeline(text)))")
    assert client.call("good film")[1]["last"]["tier"] == "wasm"
    assert [labels[0]["label"] for labels in answers] == ["positive", "negative"]


def _death(client: Client) -> str:
    """What a call's error says, "" when there was none."""
    try:
        client.call("good film")
    except EdgeInferError as error:
        return str(error)
    return ""
