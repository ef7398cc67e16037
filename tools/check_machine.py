"""Check that this machine has what the project needs; install browsers where that is possible, else say how.

Runs on any Python 3 before anything else is set up. Debian and Ubuntu as root: apt installs what is missing.
Elsewhere the exact commands are printed and the exit code is 1.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Where a Vulkan driver says that it is there; Firefox has no WebGPU adapter without one. Only Linux needs it.
VULKAN = "/usr/share/vulkan/icd.d/*.json"

#: what is needed -> (whether it is there, Debian packages, what else helps)
NEEDS: dict[str, tuple[Callable[[], bool], list[str], str]] = {
    "Chromium": (
        lambda: found(CHROMIUM, "EDGEINFER_CHROMIUM"),
        ["chromium"],
        "or install Google Chrome, or set EDGEINFER_CHROMIUM",
    ),
    "Firefox ESR": (
        lambda: found(("firefox-esr",), "EDGEINFER_FIREFOX"),
        ["firefox-esr"],
        "or set EDGEINFER_FIREFOX to an ESR's executable",
    ),
    "a Vulkan driver": (
        lambda: sys.platform != "linux" or bool(glob.glob(VULKAN)),
        ["libvulkan1", "mesa-vulkan-drivers"],
        "or your graphics card's own",
    ),
}


def main() -> int:
    """Report, install, report again."""
    problems = [*python_problem(), *node_problem()]
    missing = missing_needs()
    if missing and can_apt():
        apt_install([package for name in missing for package in NEEDS[name][1]])
        missing = missing_needs()
    problems += [need_problem(name) for name in missing]
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


def missing_needs() -> list[str]:
    """Names of what is not there."""
    return [name for name, (is_there, _, _) in NEEDS.items() if not is_there()]


def found(commands: tuple[str, ...], variable: str) -> bool:
    """Whether one of the commands is there, or the variable names one."""
    return bool(os.environ.get(variable)) or any(map(shutil.which, commands))


def can_apt() -> bool:
    """Whether apt-get may be used here."""
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def apt_install(packages: list[str]) -> None:
    """Install Debian packages; a failure shows apt's own words, and what is missing is told afterwards."""
    print(f"set-up: installing {' '.join(packages)} with apt-get", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *command], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)


def need_problem(name: str) -> str:
    """What is missing and how to get it."""
    _, packages, otherwise = NEEDS[name]
    return f"{name} is missing. On Debian or Ubuntu: sudo apt-get install {' '.join(packages)} ({otherwise})."


if __name__ == "__main__":
    raise SystemExit(main())
