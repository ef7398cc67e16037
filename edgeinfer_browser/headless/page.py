"""A page of a real headless browser that has the client, served from loopback: what ``run`` and ``bench`` stand on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

from edgeinfer_browser.errors import EdgeInferError, InputError, from_fields
from edgeinfer_browser.headless.chromium import find_chromium
from edgeinfer_browser.headless.serving import serving

#: Without it headless Chromium has navigator.gpu and no adapter.
CHROMIUM_ARGUMENTS = ("--enable-unsafe-webgpu",)
#: Seconds that a call in the page may take.
PAGE_SECONDS = 300

#: The call in the page. Errors cross as fields; evaluate() would keep their text alone.
_IN_PAGE = """async (argument) => {{
  try {{
    const {{ load }} = await import("/edgeinfer/edgeinfer.js");
    return {{ value: await ({expression})(load, argument) }};
  }} catch (error) {{
    return {{ error: {{ name: error.name, message: error.message, details: error.details ?? {{}} }} }};
  }}
}}"""


def find_runtime(given: Path | None) -> Path:
    """The runtime folder (client, workers, wheel, Pyodide, ort/): given, $EDGEINFER_RUNTIME, or build/site/edgeinfer.

    Raises:
        InputError: when there is none; the message says how to make one.
    """
    named = given or (Path(os.environ["EDGEINFER_RUNTIME"]) if "EDGEINFER_RUNTIME" in os.environ else None)
    here = Path.cwd()
    places = [named] if named else [folder / "build/site/edgeinfer" for folder in (here, *here.parents)]
    for place in places:
        if (place / "edgeinfer.js").is_file():
            return place.resolve()
    raise InputError(
        f"There is no runtime folder at {places[0]}. Make one with `make site` in the project's checkout, and name it "
        "with --runtime or EDGEINFER_RUNTIME.",
    )


@contextmanager
def site_folder(links: Mapping[str, Path]) -> Iterator[Path]:
    """A folder to serve that has nothing but a blank page and links to folders, by name."""
    with tempfile.TemporaryDirectory(prefix="edgeinfer-") as name:
        site = Path(name)
        (site / "index.html").write_text("<!doctype html><title>edgeinfer</title>", "utf-8")
        for link, folder in links.items():
            (site / link).symlink_to(folder.resolve(), target_is_directory=True)
        yield site


@contextmanager
def page_at(url: str, browser: str | None = None, arguments: Sequence[str] = CHROMIUM_ARGUMENTS) -> Iterator[Page]:
    """A page of a fresh headless Chromium at ``url``.

    Raises:
        EdgeInferError: when the browser cannot be started; the message is Playwright's.
    """
    with sync_playwright() as playwright:
        path = find_chromium(browser, playwright)
        try:
            launched = playwright.chromium.launch(executable_path=path, args=list(arguments))
        except PlaywrightError as error:
            raise EdgeInferError(f"{path} could not be started: {error}") from error
        with launched:
            page = launched.new_page()
            page.set_default_timeout(PAGE_SECONDS * 1000)
            page.goto(url)
            yield page


@contextmanager
def served_page(models: Path, runtime: Path | None, browser: str | None, **links: Path) -> Iterator[Page]:
    """A page of a site with the runtime, the models of a folder and other links, and with the API below ``/api``."""
    with (
        site_folder({"edgeinfer": find_runtime(runtime), "models": models, **links}) as site,
        serving(models, "--site", str(site), "--api-prefix", "/api") as url,
        page_at(url, browser) as page,
    ):
        yield page


def call(page: Page, expression: str, argument: Any) -> Any:
    """Evaluate ``expression(load, argument)``, where ``load`` is the client's, in the page.

    Raises:
        EdgeInferError: what was thrown there, as its class here.
    """
    outcome = page.evaluate(_IN_PAGE.format(expression=expression), argument)
    if "error" in outcome:
        error = outcome["error"]
        raise from_fields(error["name"], error["message"], error["details"])
    return outcome["value"]
