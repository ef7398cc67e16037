"""The same in a stock Firefox: another engine, whose software adapter has shader-f16."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.client import Client, tried


@pytest.fixture(scope="module")
def client(firefox: Browser, site_url: str) -> Iterator[Client]:
    context = firefox.new_context(base_url=site_url)
    page = context.new_page()
    page.set_default_timeout(180_000)
    page.goto("blank.html")
    yield Client(page)
    context.close()


def test_wasm_answers(client: Client) -> None:
    client.load(tier="wasm")
    labels, info = client.call("I love it")
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("wasm", "q8")
    assert labels[0]["label"] == "positive"


def test_what_firefox_does_not_tell_is_unknown_and_not_zero(client: Client) -> None:
    info = client.load("tiny")
    assert info["tier"] == "wasm"
    assert info["capabilities"]["device_memory"] is None
    assert info["capabilities"]["effective_type"] is None


def test_webgpu_answers_with_fp16_where_the_adapter_has_it(client: Client) -> None:
    info = client.load(tier="webgpu")
    has_f16 = "shader-f16" in info["capabilities"]["features"]
    labels, info = client.call("I love it")
    assert (info["last"]["tier"], info["last"]["dtype"]) == ("webgpu", "fp16" if has_f16 else "fp32")
    assert labels[0]["label"] == "positive"
    assert labels[0]["score"] == pytest.approx(0.999, abs=0.01)


def test_automatic_prefers_wasm_to_the_software_adapter(client: Client) -> None:
    info = client.load("tiny")
    assert info["tier"] == "wasm"
    assert "software" in tried(info, "webgpu")


def test_the_api_answers(client: Client) -> None:
    client.load("tiny", tier="api")
    labels, info = client.call("awful film")
    assert info["last"]["tier"] == "api"
    assert labels[0]["label"] == "negative"
