"""Each tier answers for real, and only what it needs is fetched. First assertion: which tier answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.client import Client, tried
from tests.browser.conftest import SENTIMENT

TEXT = "I love it"

#: Put before the session worker's script: the page is told of the first compute dispatch, by a request.
COUNT_DISPATCHES = """
for (const name of ["dispatchWorkgroups", "dispatchWorkgroupsIndirect"]) {
  const original = GPUComputePassEncoder.prototype[name];
  GPUComputePassEncoder.prototype[name] = function (...sizes) {
    if (!globalThis.told) fetch("/dispatched");
    globalThis.told = true;
    return original.apply(this, sizes);
  };
}
"""


def test_wasm_answers_and_fetches_only_its_own_runtime(client: Client) -> None:
    client.load(tier="wasm")
    labels, info = client.call(TEXT)
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("wasm", "q8")
    assert labels[0]["label"] == "positive"
    assert [path.rpartition("/")[2] for path in client.fetched("/ort/")] == [
        "ort.wasm.bundle.min.mjs",
        "ort-wasm-simd-threaded.wasm",
    ]
    assert not client.fetched("/api/")
    assert not client.fetched("model.onnx")


def test_webgpu_answers_by_dispatching_compute_work(client: Client, instrument: Callable[[str, str], str]) -> None:
    client.load(tier="webgpu", runtime=instrument("session_worker.js", COUNT_DISPATCHES))
    labels, info = client.call(TEXT)
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("webgpu", "fp32")
    assert labels[0]["label"] == "positive"
    assert client.fetched("/dispatched")
    assert client.fetched(".jspi.wasm")
    assert not client.fetched(".asyncify.")
    assert not client.fetched("ort-wasm-simd-threaded.wasm")
    assert not client.fetched("/api/")


def test_the_api_tier_takes_the_text_itself_and_downloads_nothing(client: Client) -> None:
    client.load(tier="api")
    labels, info = client.call(TEXT)
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("api", "q8")
    assert labels[0]["label"] == "positive"
    assert client.fetched("/api/") == ["/api/predict"]
    assert not [path for path in client.paths if path.endswith((".wasm", ".whl", ".onnx", "tokenizer.json", ".zip"))]


def test_prefer_remote_feeds_the_api_with_tokens_over_the_open_inference_protocol(client: Client) -> None:
    client.load(policy="prefer-remote")
    labels, info = client.call(TEXT)
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("api", "q8")
    assert labels[0]["label"] == "positive"
    assert client.fetched("/api/") == ["/api/v2/models/sentiment/infer"]
    assert not client.fetched(".onnx")


def test_the_tiers_agree(client: Client) -> None:
    scores = {}
    for tier in ("wasm", "webgpu", "api"):
        client.load(tier=tier)
        labels, info = client.call(TEXT, topK=None)
        assert info["last"]["tier"] == tier
        scores[tier] = {label["label"]: label["score"] for label in labels}
    assert scores["api"] == pytest.approx(scores["wasm"], abs=0.01)
    assert scores["webgpu"] == pytest.approx(scores["wasm"], abs=0.05)


def test_a_software_adapter_loses_to_wasm_and_the_reason_names_it(client: Client) -> None:
    info = client.load("tiny")
    assert info["tier"] == "wasm"
    assert "software" in tried(info, "webgpu")
    assert "swiftshader" in tried(info, "webgpu")
    assert info["capabilities"]["webgpu"] is True


def test_without_an_adapter_wasm_answers_and_the_reason_says_so(
    chromium_without_adapter: Browser, site_url: str
) -> None:
    with chromium_without_adapter.new_context(base_url=site_url) as context:
        client = Client(_open(context))
        info = client.load("tiny")
        assert info["tier"] == "wasm"
        assert "requestAdapter() gave null" in tried(info, "webgpu")


def test_without_simd_the_api_answers(launch_chromium: Callable[..., Browser], site_url: str) -> None:
    browser = launch_chromium("--js-flags=--no-enable-sse4-1 --no-enable-sse3 --no-enable-ssse3")
    with browser.new_context(base_url=site_url) as context:
        client = Client(_open(context))
        info = client.load("tiny")
        assert info["tier"] == "api"
        assert "SIMD" in tried(info, "wasm")
        assert not client.fetched(".onnx")
        assert client.call("good film")[0][0]["label"] == "positive"


def test_save_data_sends_the_text_and_downloads_nothing(context: BrowserContext) -> None:
    context.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'connection', { get: () => ({ saveData: true }) })"
    )
    client = Client(_open(context))
    info = client.load("tiny")
    assert info["tier"] == "api"
    assert "Save-Data" in info["attempts"][0]["reason"]
    assert client.call("good film")[0][0]["label"] == "positive"
    assert client.fetched("/api/") == ["/api/predict"]
    assert not client.fetched("/pyodide/")


def test_without_webassembly_the_text_goes_to_the_api(context: BrowserContext) -> None:
    context.add_init_script("delete globalThis.WebAssembly")
    client = Client(_open(context))
    assert client.load("tiny")["tier"] == "api"
    assert client.call("awful film")[0][0]["label"] == "negative"
    assert not client.fetched("/pyodide/")


def test_while_loading_the_api_answers_and_then_the_local_tier_does(client: Client) -> None:
    first = client.load("tiny", whileLoading="api")
    assert first["tier"] == "api"
    assert client.call("good film")[1]["last"]["tier"] == "api"
    assert client.fetched("/api/predict")
    client.evaluate("() => pipeline.ready")
    labels, info = client.call("good film")
    assert info["last"]["tier"] == "wasm"
    assert labels[0]["label"] == "positive"
    assert len(client.fetched("/api/predict")) == 1


def test_by_default_no_text_is_sent_while_loading(client: Client) -> None:
    assert client.load("tiny")["tier"] == "wasm"
    client.call("good film")
    assert not client.fetched("/api/")


def test_fastest_measures_both_local_tiers_and_remembers(client: Client) -> None:
    info = client.load("tiny", policy="fastest")
    assert info["tier"] in {"wasm", "webgpu"}
    assert client.fetched(".jspi.wasm")
    assert client.fetched("ort-wasm-simd-threaded.wasm")
    sessions = len(client.fetched("session_worker.js"))
    client.evaluate("() => pipeline.dispose()")
    assert client.load("tiny", policy="fastest")["tier"] == info["tier"]
    assert len(client.fetched("session_worker.js")) == sessions + 1


def test_a_batch_keeps_its_order_over_several_sessions(client: Client) -> None:
    client.load("tiny", tier="wasm")
    texts = ["good film", "awful film", "great", "the bad film"] * 16
    labels, info = client.call(texts)
    assert info["last"]["tier"] == "wasm"
    assert [each[0]["label"] for each in labels] == ["positive", "negative", "positive", "negative"] * 16
    assert len(client.fetched("session_worker.js")) > 1


def test_a_webgpu_batch_of_unequal_lengths_gives_each_text_its_own_answer(client: Client) -> None:
    client.load("tiny", tier="webgpu")
    texts = ["good", "the " * 20 + "awful film", "great great great", "bad film"] * 5
    labels, info = client.call(texts)
    assert info["last"]["tier"] == "webgpu"
    alone = [client.call(text)[0] for text in texts[:4]]
    assert [each[0]["label"] for each in labels[:4]] == [each[0]["label"] for each in alone]
    assert [each[0]["score"] for each in labels[:4]] == pytest.approx([each[0]["score"] for each in alone], abs=1e-5)


def test_a_plain_hugging_face_folder_works_and_says_that_it_guarantees_less(client: Client, site: Path) -> None:
    plain = site / "plain"
    plain.mkdir(exist_ok=True)
    for name in ("config.json", "tokenizer.json", "onnx"):
        if not (plain / name).exists():
            (plain / name).symlink_to(SENTIMENT / name)
    client.load(model="../plain", api=None)
    labels, info = client.call(TEXT)
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("wasm", "q8")
    assert labels[0]["label"] == "positive"
    assert (info["packed"], info["revision"]) == (False, "")


def test_a_script_tag_puts_load_on_the_page(client: Client) -> None:
    client.page.evaluate("""() => new Promise((resolve, reject) => {
      const script = document.createElement("script");
      Object.assign(script, { type: "module", src: "/edgeinfer/edgeinfer.js", onload: resolve, onerror: reject });
      document.head.append(script);
    })""")
    tier = client.page.evaluate("""async () => {
      const tiny = await edgeinfer.load({ task: "text-classification", model: "/models/tiny/" });
      await tiny("good film");
      return tiny.info.last.tier;
    }""")
    assert tier == "wasm"


def test_two_pipelines_share_one_python_and_end_apart(client: Client) -> None:
    tiers = client.evaluate("""async (_, load) => {
      const options = { task: "text-classification", model: "models/tiny/" };
      const [one, two] = await Promise.all([load(options), load(options)]);
      await one.dispose();
      const [label] = await two("good film");
      return [two.info.last.tier, label.label];
    }""")
    assert tiers == ["wasm", "positive"]
    assert len(client.fetched("python_worker.js")) == 1


def test_disposing_while_the_local_tier_loads_leaves_no_session_behind(client: Client) -> None:
    client.load("tiny", whileLoading="api")
    assert client.call("good film")[1]["last"]["tier"] == "api"
    client.evaluate("async () => { await pipeline.dispose(); await pipeline.ready; }")
    for _ in range(50):  # the browser tells of a worker's end in its own time
        left = [worker for worker in client.page.workers if worker.url.endswith("session_worker.js")]
        if not left:
            break
        client.page.wait_for_timeout(100)
    assert left == []


@pytest.mark.parametrize("tier", ["wasm", "api"])
def test_a_call_that_is_aborted_rejects_at_once_and_the_next_one_works(
    client: Client, context: BrowserContext, tier: str
) -> None:
    assert client.load("tiny", tier=tier)["tier"] == tier
    context.route("**/api/predict", lambda _: None)  # never answers
    abort = """async () => {
      const controller = new AbortController();
      const call = pipeline(Array(2_000).fill("good film"), { signal: controller.signal });
      controller.abort();
      return call.catch((error) => error.name);
    }"""
    assert client.evaluate(abort) == "AbortError"
    context.unroute("**/api/predict")
    labels, info = client.call("awful film")
    assert info["last"]["tier"] == tier
    assert labels[0]["label"] == "negative"


def test_a_second_visit_fetches_no_model_again(context: BrowserContext) -> None:
    first = Client(_open(context))
    assert first.load("tiny")["tier"] == "wasm"
    assert first.fetched(".onnx")
    second = Client(_open(context))
    before = len(second.fetched(".onnx"))
    assert second.load("tiny")["tier"] == "wasm"
    assert len(second.fetched(".onnx")) == before


def _open(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto("blank.html")
    return page
