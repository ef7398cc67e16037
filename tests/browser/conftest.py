"""Real browsers on the real site: one server for the run, one process for each kind of browser, a context a test."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from edgeinfer_browser.headless.chromium import find_chromium
from edgeinfer_browser.headless.serving import serving
from tests import tiny_model
from tests.browser.client import Client

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "build/site"
SENTIMENT = ROOT / "build/models/sentiment"
FIREFOX = os.environ.get("EDGEINFER_FIREFOX") or shutil.which("firefox-esr") or "firefox-esr"


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the real model and the tiny one."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "sentiment").symlink_to(SENTIMENT, target_is_directory=True)
    tiny_model.make(folder / "tiny", tmp_path_factory.mktemp("tiny-source"))
    return folder


@pytest.fixture(scope="session")
def site(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's site, with both models."""
    folder = tmp_path_factory.mktemp("site")
    for path in SITE.iterdir():
        if path.name != "models" and not path.name.startswith("."):
            (folder / path.name).symlink_to(path, target_is_directory=path.is_dir())
    (folder / "models").symlink_to(models, target_is_directory=True)
    (folder / "blank.html").write_text("<!doctype html><title>blank</title>")
    return folder


@pytest.fixture
def instrument(site: Path) -> Callable[[str, str], str]:
    """instrument(script, code) -> a runtime folder whose script has ``code`` put before it.

    Playwright does not intercept the script of a worker's worker, so the file itself is another one.
    """

    def make(script: str, code: str) -> str:
        name = f"edgeinfer-{hashlib.sha256(f'{script}{code}'.encode()).hexdigest()[:12]}"
        folder = site / name
        folder.mkdir(exist_ok=True)
        for path in (site / "edgeinfer").iterdir():
            link = folder / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(path.resolve(), target_is_directory=path.is_dir())
        source = (folder / script).read_text("utf-8")
        (folder / script).unlink()
        (folder / script).write_text(code + source, "utf-8")
        return f"{name}/"

    return make


@pytest.fixture(scope="session")
def site_url(site: Path, models: Path) -> Iterator[str]:
    """The base URL (ending in "/") of the site, with the API at ``api/``."""
    with serving(models, "--site", str(site), "--api-prefix", "/api") as url:
        yield url


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright's sync API."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def launch_chromium(playwright: Playwright) -> Iterator[Callable[..., Browser]]:
    """launch(*arguments) -> a Chromium, one for each set of arguments."""
    path, running = find_chromium(None, playwright), dict[tuple[str, ...], Browser]()

    def launch(*arguments: str) -> Browser:
        if arguments not in running:
            running[arguments] = playwright.chromium.launch(executable_path=path, args=list(arguments))
        return running[arguments]

    yield launch
    for browser in running.values():
        browser.close()


@pytest.fixture
def chromium(launch_chromium: Callable[..., Browser]) -> Browser:
    """A Chromium with a (software) WebGPU adapter."""
    return launch_chromium("--enable-unsafe-webgpu")


@pytest.fixture
def chromium_without_adapter(launch_chromium: Callable[..., Browser]) -> Browser:
    """A Chromium whose requestAdapter() gives null."""
    return launch_chromium()


@pytest.fixture(scope="module")
def firefox(playwright: Playwright) -> Iterator[Browser]:
    """A stock Firefox ESR with a WebGPU adapter (Mesa's software one, which has shader-f16)."""
    preferences: dict[str, str | float | bool] = {"dom.webgpu.enabled": True, "gfx.webgpu.ignore-blocklist": True}
    browser = playwright.firefox.launch(channel="moz-firefox", executable_path=FIREFOX, firefox_user_prefs=preferences)
    yield browser
    browser.close()


@pytest.fixture
def context(chromium: Browser, site_url: str) -> Iterator[BrowserContext]:
    """A fresh context: nothing is cached."""
    made = chromium.new_context(base_url=site_url)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A blank page of the site."""
    made = context.new_page()
    made.goto("blank.html")
    return made


@pytest.fixture
def client(page: Page) -> Client:
    """The page's client, driven from here."""
    return Client(page)
