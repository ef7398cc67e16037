"""Take the README's picture of the demo: ``docs/demo.png``, from the real site on the automatic tier."""

from __future__ import annotations

from pathlib import Path

from edgeinfer_browser.headless.page import page_at
from edgeinfer_browser.headless.serving import serving

ROOT = Path(__file__).resolve().parent.parent
TEXT = "The staff were kind and the view was wonderful."


def main() -> int:
    """Open the demo, ask, and take the picture."""
    options = ("--site", str(ROOT / "build/site"), "--api-prefix", "/api")
    with serving(ROOT / "build/models", *options) as url, page_at(url) as page:
        page.set_viewport_size({"width": 1100, "height": 960})
        page.wait_for_selector("html[data-state=ready]")
        page.get_by_label("Your text").fill(TEXT)
        page.get_by_role("button", name="Classify").click()
        page.wait_for_function("globalThis.demo.lastResult !== null")
        page.wait_for_timeout(800)  # the bars grow
        page.screenshot(path=ROOT / "docs/demo.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
