"""A real headless browser on a page that has the client, served from loopback: what ``run`` and ``bench`` stand on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, Playwright, sync_playwright

from edgeinfer_browser.errors import EdgeInferError, InputError, from_fields

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Without it headless Chromium has navigator.gpu and no adapter.
CHROMIUM_ARGUMENTS = ("--enable-unsafe-webgpu",)
#: Seconds that the server may take to be ready, and a call in the page to end.
SERVER_SECONDS = 60
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


def find_chromium(given: str | None, playwright: Playwright) -> str:
    """A Chromium to drive: given, $EDGEINFER_CHROMIUM, one on the PATH, or Playwright's own.

    Raises:
        InputError: when there is none; the message says how to get one.
    """
    own = playwright.chromium.executable_path
    found = given or os.environ.get("EDGEINFER_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found or Path(own).exists():
        return found or own
    raise InputError(
        f"No Chromium was found ({', '.join(CHROMIUM_NAMES)}). Install one (Debian: apt-get install chromium; "
        "anywhere: playwright install chromium), or name it with --browser or EDGEINFER_CHROMIUM."
    )


@contextmanager
def serving(models: Path, *options: str) -> Iterator[str]:
    """``edgeinfer serve`` on a free port in a process of its own; gives its URL (ending in "/"), and ends it.

    Raises:
        EdgeInferError: when it does not start; the message is what it said.
    """
    command = [sys.executable, "-m", "edgeinfer_browser.cli", "serve", str(models), "--port", "0", *options]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as server,
    ):
        try:
            yield _ready_url(server, said)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def _ready_url(server: subprocess.Popen[str], said: IO[str]) -> str:
    assert server.stdout is not None  # it was asked for
    for line in server.stdout:
        url = next((word for word in line.split() if word.startswith("http://")), None)
        if url:
            return url if url.endswith("/") else f"{url}/"
    server.wait(SERVER_SECONDS)
    said.seek(0)
    raise EdgeInferError(f"The server did not start:\n{said.read().strip()}")


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
