"""Check that this machine has what the project needs; install browsers where that is possible, else say how.

Runs on any Python 3 before anything else is set up. Debian and Ubuntu as root: apt installs what is missing.
Elsewhere the exact commands are printed and the exit code is 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX = ("firefox-esr",)

#: what is looked for -> (candidates, environment variable that names one, Debian packages, what else helps)
BROWSERS = {
    "Chromium": (CHROMIUM, "EDGEINFER_CHROMIUM", ["chromium"], "or install Google Chrome, or set EDGEINFER_CHROMIUM"),
    "Firefox ESR": (
        FIREFOX,
        "EDGEINFER_FIREFOX",
        ["firefox-esr", "libvulkan1", "mesa-vulkan-drivers"],
        "or set EDGEINFER_FIREFOX to an ESR's executable",
    ),
}


def main() -> int:
    """Report, install, report again."""
    problems = [*python_problem(), *node_problem()]
    missing = missing_browsers()
    if missing and can_apt():
        apt_install([package for name in missing for package in BROWSERS[name][2]])
        missing = missing_browsers()
    problems += [browser_problem(name) for name in missing]
    for problem in problems:
        print(f"set-up: {problem}", file=sys.stderr)
    return 1 if problems else 0


def python_problem() -> list[str]:
    """Python 3.11 or newer, with venv."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file runs before anything has checked
        found = ".".join(map(str, sys.version_info[:3]))
        return [f"Python 3.11 or newer is needed, {sys.executable} is {found}. Run: make PYTHON=/path/to/python3.11"]
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        return ["Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv"]
    return []


def node_problem() -> list[str]:
    """Node 20 or newer, with npm."""
    how = "Install it from your system's packages or from nodejs.org."
    if not shutil.which("node") or not shutil.which("npm"):
        return [f"Node.js 20 or newer with npm is needed. {how}"]
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)", said)
    if not version or int(version.group(1)) < 20:
        return [f"Node.js 20 or newer is needed, this is {said.strip() or 'unknown'}. {how}"]
    return []


def missing_browsers() -> list[str]:
    """Names of the browsers that are not there."""
    return [name for name, (commands, variable, _, _) in BROWSERS.items() if not find(commands, variable)]


def find(commands: tuple[str, ...], variable: str) -> str | None:
    """The executable, or None."""
    return os.environ.get(variable) or next(filter(None, map(shutil.which, commands)), None)


def can_apt() -> bool:
    """Whether apt-get may be used here."""
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def apt_install(packages: list[str]) -> None:
    """Install Debian packages; a failure shows apt's own words and is reported as a missing browser afterwards."""
    print(f"set-up: installing {' '.join(packages)} with apt-get", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *command], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)


def browser_problem(name: str) -> str:
    """What is missing and how to get it."""
    _, _, packages, otherwise = BROWSERS[name]
    return f"{name} is missing. On Debian or Ubuntu: sudo apt-get install {' '.join(packages)} ({otherwise})."


if __name__ == "__main__":
    raise SystemExit(main())
