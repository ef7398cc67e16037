"""The probe in real browsers with real lacks: each "no" has its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.client import Client

Launch = Callable[..., Browser]

#: Run the probe of the wheel's shim on the page itself, where flags and init scripts reach.
PROBE = """async (_, load) => {
  const { createShim } = await import(new URL("shim.js", document.baseURI).href);
  return JSON.parse((await createShim("{}").probe("{}")).json);
}"""


def _capabilities(browser: Browser, url: str, init: str = "") -> dict[str, Any]:
    """As load() reports them: seen by the Python worker."""
    with browser.new_context() as context:
        if init:
            context.add_init_script(init)
        page = context.new_page()
        page.goto(f"{url}blank.html")
        found: dict[str, Any] = Client(page).load("tiny")["capabilities"]
        return found


def test_a_device_with_everything(chromium: Browser, site_url: str) -> None:
    device = _capabilities(chromium, site_url)
    assert device["host"] == "worker"
    assert device["webgpu"] is True
    assert device["software_adapter"] is True
    assert device["max_buffer_size"] >= 2**28
    assert {"secure_context", "webassembly", "wasm_simd", "wasm_threads", "wasm_jspi"} <= {
        k for k, v in device.items() if v
    }
    assert device["cross_origin_isolated"] is True
    assert device["cores"] >= 1
    assert device["online"] is True
    assert device["reasons"] == {}


def test_no_adapter(chromium_without_adapter: Browser, site_url: str) -> None:
    device = _capabilities(chromium_without_adapter, site_url)
    assert device["webgpu"] is False
    assert device["reasons"]["webgpu"] == "navigator.gpu is there, but requestAdapter() gave null."


def test_no_simd(launch_chromium: Launch, site_url: str) -> None:
    device = _capabilities(
        launch_chromium("--js-flags=--no-enable-sse4-1 --no-enable-sse3 --no-enable-ssse3"), site_url
    )
    assert device["webassembly"] is True
    assert device["wasm_simd"] is False
    assert "SIMD" in device["reasons"]["wasm_simd"]


def test_an_insecure_origin(launch_chromium: Launch, site_url: str) -> None:
    browser = launch_chromium("--enable-unsafe-webgpu", "--host-resolver-rules=MAP insecure.test 127.0.0.1")
    device = _capabilities(browser, f"http://insecure.test:{urlsplit(site_url).port}/")
    assert device["secure_context"] is False
    assert device["webgpu"] is False
    assert "secure context" in device["reasons"]["webgpu"]
    assert "secure context" in device["reasons"]["cache_api"]
    assert device["wasm_threads"] is False


@pytest.fixture
def on_page(page: Page, site: Any) -> Callable[[str], dict[str, Any]]:
    """probe(init) -> the facts, on a page whose globals were changed by ``init``."""
    shim = site / "shim.js"
    if not shim.exists():
        from importlib import resources

        shim.write_bytes((resources.files("edgeinfer_browser") / "_shim/shim.js").read_bytes())

    def probe(init: str) -> dict[str, Any]:
        page.add_init_script(init)
        page.reload()
        facts: dict[str, Any] = Client(page).evaluate(PROBE)
        return facts

    return probe


def test_a_gpu_that_is_null(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page("Object.defineProperty(Navigator.prototype, 'gpu', { get: () => null })")
    assert facts["gpu"] == {"present": False}


def test_an_adapter_request_that_never_answers_ends_at_its_deadline(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page("GPU.prototype.requestAdapter = () => new Promise(() => {})")
    assert facts["gpu"]["step"] == "requestAdapter"
    assert "DeadlineError" in facts["gpu"]["error"]


def test_a_device_that_is_refused(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page("GPUAdapter.prototype.requestDevice = async () => { throw new Error('no device today') }")
    assert facts["gpu"]["adapter"] is True
    assert facts["gpu"]["step"] == "requestDevice"
    assert "no device today" in facts["gpu"]["error"]


def test_a_test_buffer_that_cannot_be_had(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page(
        "const create = GPUDevice.prototype.createBuffer;"
        "GPUDevice.prototype.createBuffer = function (d) {"
        "  return create.call(this, d.size > 1e6 ? { ...d, size: 2 ** 40 } : d); }"
    )
    assert facts["gpu"]["buffer"] is False
    assert facts["gpu"]["compute"] is True


def test_a_shader_that_computes_wrongly(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page("GPUComputePassEncoder.prototype.dispatchWorkgroups = () => {}")
    assert facts["gpu"]["buffer"] is True
    assert facts["gpu"]["compute"] is False


def test_a_policy_that_forbids_webassembly(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page(
        "WebAssembly.Module = function () { throw new WebAssembly.CompileError('blocked by wasm-unsafe-eval') }"
    )
    assert facts["wasm"]["compiles"] is False
    assert "wasm-unsafe-eval" in facts["wasm"]["error"]


def test_no_cache_api_and_no_storage_estimate(on_page: Callable[[str], dict[str, Any]]) -> None:
    facts = on_page(
        "delete globalThis.caches; Object.defineProperty(Navigator.prototype, 'storage', { get: () => undefined })"
    )
    assert facts["storage"]["cacheApi"] is False
    assert facts["storage"]["quota"] is None
