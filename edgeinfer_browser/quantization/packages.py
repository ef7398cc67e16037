"""Packages that some methods need and that are no dependency of ours."""

from __future__ import annotations

import importlib.util

from edgeinfer_browser.errors import InputError


def require_package(name: str, why: str, install: str) -> None:
    """Refuse what needs a package that is not installed.

    Args:
        name: the module's.
        why: what it is needed for, as the beginning of a sentence.
        install: the line that installs it.

    Raises:
        InputError: says why, and the line.
    """
    if importlib.util.find_spec(name) is None:
        raise InputError(f"{why}, and {name} is not installed. Install it: {install}", package=name)
