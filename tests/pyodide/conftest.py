"""Raw Pyodide in a real browser, as a Python author has it: the main runtime and the oldest supported one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from edgeinfer_browser.headless.serving import serving
from tests.browser.conftest import ROOT, chromium, launch_chromium, models, playwright

__all__ = ["chromium", "launch_chromium", "models", "playwright"]

#: version -> (folder of its npm package, micropip's wheel for it)
RUNTIMES = {
    "314.0.7": ("pyodide", "micropip-0.11.1-py3-none-any.whl"),
    "0.27.7": ("pyodide-oldest", "micropip-0.9.0-py3-none-any.whl"),
}

#: A module worker that runs Python for the page: what JupyterLite and PyScript do with it.
WORKER = """
import { loadPyodide } from "./pyodide.mjs";
const ready = loadPyodide();
addEventListener("message", async ({ data }) => {
  try {
    postMessage({ value: await (await ready).runPythonAsync(data) });
  } catch (error) {
    postMessage({ error: String(error) });
  }
});
"""


@pytest.fixture(scope="session")
def wheel_name() -> str:
    """File name of the built wheel."""
    (wheel,) = (ROOT / "build/wheel").glob("*.whl")
    return wheel.name


@pytest.fixture(scope="session")
def python_site(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a site with both Pyodides (micropip beside each), the runtime folder, the models and tokenizers."""
    site = tmp_path_factory.mktemp("python-site")
    for package, micropip in RUNTIMES.values():
        folder = site / package
        folder.mkdir()
        for path in (ROOT / "node_modules" / package).iterdir():
            (folder / path.name).symlink_to(path)
        (folder / micropip).symlink_to(ROOT / ".cache/pyodide" / micropip)
        (folder / "worker.mjs").write_text(WORKER)
    (site / "edgeinfer").symlink_to(ROOT / "build/site/edgeinfer", target_is_directory=True)
    (site / "models").symlink_to(models, target_is_directory=True)
    (site / "tokenizers").symlink_to(ROOT / ".cache/tokenizers", target_is_directory=True)
    (site / "blank.html").write_text("<!doctype html><title>blank</title>")
    with serving(models, "--site", str(site), "--api-prefix", "/api") as url:
        yield url


@pytest.fixture
def page(chromium: Browser, python_site: str) -> Iterator[Page]:
    """A blank page beside both runtimes."""
    with chromium.new_context(base_url=python_site) as context:
        made = context.new_page()
        made.set_default_timeout(120_000)
        made.goto("blank.html")
        yield made
