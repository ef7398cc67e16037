"""Imports point one way, and only the bridge knows the browser."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import edgeinfer_browser

ROOT = Path(edgeinfer_browser.__file__).parent

#: Leaves first; modules of one row may import each other. A module may import rows above its own, and its own.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("tensors",),
    ("wire",),
    ("bridge",),
    ("answer_check", "disk_cache", "download"),
    ("bridge_native", "capabilities"),
    ("manifest",),
    ("policy",),
    ("cache",),
    # Every call leaves a metric, so what a metric is lies below what makes calls; whoever reads them needs no more.
    ("telemetry",),
    ("backends",),
    ("tokenizers",),
    ("pipelines",),
    ("hybrid",),
    ("benchmark", "rpc"),
    ("headless",),
    ("packing",),
    ("evaluation",),
    ("quantization",),
    ("server",),
    ("testing",),
    ("cli",),
)
RANKS = {name: rank for rank, row in enumerate(LAYERS) for name in row}

#: Only the bridge imports these; ``edgeinfer_shim`` is the module a host registers.
BROWSER_MODULES = {"js", "pyodide", "pyodide_js", "edgeinfer_shim"}

#: default_bridge() hands out the native bridge: the one import against the direction, and inside a function.
EXCEPTIONS = {("bridge", "bridge_native")}


def layer_of(path: Path) -> str:
    """The layer of a file of the package: the top folder's name, or the module's own."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(source: str) -> Iterator[str]:
    """Every module a source imports, anywhere in it: inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "edgeinfer_browser.a_relative_import"
            elif node.module == "edgeinfer_browser":
                yield from (f"edgeinfer_browser.{alias.name}" for alias in node.names)
            elif node.module:
                yield node.module


def violations(layer: str, source: str) -> list[str]:
    """What a source in a layer imports and may not."""
    wrong = []
    for name in imported(source):
        top, _, rest = name.partition(".")
        if top in BROWSER_MODULES and layer != "bridge":
            wrong.append(f"{layer} imports {name}, which is bridge.py's")
        if top != "edgeinfer_browser":
            continue
        target = rest.partition(".")[0]
        if target not in RANKS:
            # "from edgeinfer_browser import pipeline": the front door is above everything but the command line.
            if layer not in ("cli", "testing", "server"):
                wrong.append(f"{layer} imports {name}, which is in no layer below it")
        elif RANKS[target] > RANKS[layer] and (layer, target) not in EXCEPTIONS:
            wrong.append(f"{layer} imports {target}, a later layer")
    return wrong


MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_layers_below_it(path: Path) -> None:
    layer = layer_of(path)
    assert layer in RANKS, f"{layer} has no place in LAYERS"
    assert violations(layer, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("errors", "from edgeinfer_browser.tensors import Tensor"),
        ("wire", "import edgeinfer_browser.policy"),
        ("manifest", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from edgeinfer_browser.cache import X"),
        ("policy", "def late():\n    from edgeinfer_browser.pipelines import pipeline"),
        ("cache", "from edgeinfer_browser import rpc"),
        ("cache", "from edgeinfer_browser import pipeline"),
        ("backends", "from ..pipelines import pipeline"),
        ("server", "from edgeinfer_browser.cli import main"),
        ("pipelines", "from pyodide.ffi import to_js"),
        ("bridge_native", "import js"),
        ("cli", "def run():\n    import pyodide_js"),
    ],
)
def test_a_planted_violation_is_found(layer: str, source: str) -> None:
    assert violations(layer, source)


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("tensors", "from edgeinfer_browser.errors import InputError"),
        ("backends", "from edgeinfer_browser.backends.base import Backend"),
        ("bridge", "from js import URL\nfrom pyodide.ffi import to_js"),
        ("bridge", "def default():\n    from edgeinfer_browser.bridge_native import NativeBridge"),
        ("cli", "from edgeinfer_browser import pipeline\nimport json.decoder"),
    ],
)
def test_an_import_downwards_is_no_violation(layer: str, source: str) -> None:
    assert violations(layer, source) == []
