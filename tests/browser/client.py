"""Client: the page's client (edgeinfer.js) driven from a test, with a record of what the page fetched."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

from edgeinfer_browser.errors import from_fields

_CALL = """async (argument) => {{
  try {{
    const {{ load }} = await import(new URL("edgeinfer/edgeinfer.js", document.baseURI).href);
    globalThis.events ??= [];
    return {{ value: (await ({expression})(argument, load)) ?? null }};
  }} catch (error) {{
    return {{ error: {{ name: error.name, message: error.message, details: error.details ?? {{}} }} }};
  }}
}}"""

_LOAD = """async (options, load) => {
  globalThis.pipeline = await load({ ...options, onProgress: (event) => events.push(event) });
  return pipeline.info;
}"""

_CALL_PIPELINE = """async ({ inputs, options }) => {
  const labels = await pipeline(inputs, options);
  return { labels, info: pipeline.info };
}"""


class Client:
    """One page with one pipeline at a time."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.paths: list[str] = []
        page.context.on("request", lambda request: self.paths.append(urlsplit(request.url).path))

    def evaluate(self, expression: str, argument: Any = None) -> Any:
        """``expression(argument, load)`` in the page; what it throws is raised here as its class."""
        outcome = self.page.evaluate(_CALL.format(expression=expression), argument)
        if "error" in outcome:
            raise from_fields(**outcome["error"])
        return outcome["value"]

    def load(self, model: str = "sentiment", **options: Any) -> dict[str, Any]:
        """Load a pipeline; ``info``. The API is given unless ``api=None``."""
        merged = {"task": "text-classification", "model": f"models/{model}/", "api": "api/", **options}
        info: dict[str, Any] = self.evaluate(_LOAD, {k: v for k, v in merged.items() if v is not None})
        return info

    def call(self, inputs: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
        """(labels, info) of one call."""
        outcome = self.evaluate(_CALL_PIPELINE, {"inputs": inputs, "options": options})
        return outcome["labels"], outcome["info"]

    def events(self) -> list[dict[str, Any]]:
        """The progress events so far."""
        return list(self.page.evaluate("events"))

    def fetched(self, part: str) -> list[str]:
        """Paths fetched so far, by the page or its workers, that have ``part`` in them."""
        return [path for path in self.paths if part in path]


def tried(info: dict[str, Any], tier: str) -> str:
    """Why a tier was not used: the reason of its last attempt that was not ok."""
    reasons = [attempt["reason"] for attempt in info["attempts"] if attempt["tier"] == tier and not attempt["ok"]]
    return str(reasons[-1])
