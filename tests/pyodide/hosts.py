"""Run Python in raw Pyodide: on the page's main thread or in a module worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from tests.pyodide.conftest import RUNTIMES

_ON_PAGE = """async ({ folder, code }) => {
  globalThis.pyodide ??= await (await import(new URL(`${folder}/pyodide.mjs`, document.baseURI).href)).loadPyodide();
  return pyodide.runPythonAsync(code);
}"""

_IN_WORKER = """({ folder, code }) => new Promise((resolve, reject) => {
  globalThis.worker ??= new Worker(new URL(`${folder}/worker.mjs`, document.baseURI), { type: "module" });
  worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data.value));
  worker.onerror = (event) => reject(new Error(event.message));
  worker.postMessage(code);
})"""

HOSTS = {"page": _ON_PAGE, "worker": _IN_WORKER}

#: Put before a test's Python: micropip from its wheel, then this package's wheel from a URL.
_INSTALL = """
import pyodide_js
await pyodide_js.loadPackage({micropip!r})
import micropip
await micropip.install({wheel!r})
"""


def python(page: Page, version: str, host: str = "page") -> Callable[[str], Any]:
    """run(code) -> the JSON value of the code's last expression, which must be a string of JSON."""
    folder = RUNTIMES[version][0]

    def run(code: str) -> Any:
        return json.loads(page.evaluate(HOSTS[host], {"folder": folder, "code": code}) or "null")

    return run


def install(run: Callable[[str], Any], version: str, base: str, wheel: str) -> None:
    """micropip.install() this package from the runtime folder's URL."""
    folder, micropip = RUNTIMES[version]
    run(_INSTALL.format(micropip=f"{base}{folder}/{micropip}", wheel=f"{base}edgeinfer/{wheel}") + "\nNone")
