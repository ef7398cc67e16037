"""Build the wheel, the runtime folder a page needs, and the demo's site around them: ``build/site``.

The site is what ``edgeinfer serve --site build/site`` serves: the demo's files, ``edgeinfer/`` (client, workers,
wheel, Pyodide, onnxruntime-web) and ``models/`` (a link to the packed models).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SITE = BUILD / "site"


def main() -> int:
    """Build everything; quick when little has changed."""
    run("node", "js_shim/build.js")
    wheel = build_wheel()
    run("node", "js_shim/build.js", "runtime", str(wheel), str(SITE / "edgeinfer"))
    shutil.copytree(ROOT / "demo", SITE, dirs_exist_ok=True)
    models = SITE / "models"
    if not models.is_symlink():
        models.symlink_to(BUILD / "models", target_is_directory=True)
    print(f"{SITE.relative_to(ROOT)} is ready ({wheel.name}, {wheel.stat().st_size / 1e3:.0f} kB)")
    return 0


def build_wheel() -> Path:
    """The pure-Python wheel, with the built shim in it, as ``build/wheel/*.whl``."""
    folder = BUILD / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    (wheel,) = folder.glob("*.whl")
    for old in (SITE / "edgeinfer").glob("*.whl"):
        old.unlink()
    return wheel


def run(*command: str) -> None:
    """Run a command in the project's root; its output is shown only when it fails."""
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        raise SystemExit(f"{' '.join(command)} failed with {done.returncode}")


if __name__ == "__main__":
    raise SystemExit(main())
