"""Find a Chromium to drive."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Playwright

from edgeinfer_browser.errors import InputError

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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
