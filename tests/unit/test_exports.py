"""The front door: what can be imported, with what installed, and which version it is."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import edgeinfer_browser

PROJECT = Path(edgeinfer_browser.__file__).parents[1]

#: Refuses what a browser does not have, as if it were not installed.
WITHOUT_EXTRAS = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "onnxruntime", "tokenizers", "httpx", "starlette", "granian", "onnx"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Blocker())
"""


def run_python(source: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", source]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=PROJECT, check=False)


def test_all_is_sorted_and_holds_only_names_that_exist() -> None:
    names = edgeinfer_browser.__all__
    constants = [name for name in names if name.isupper()]
    classes = [name for name in names if name[0].isupper() and not name.isupper()]
    assert names == [*sorted(constants), *sorted(classes), *sorted(set(names) - {*constants, *classes})]
    assert all(hasattr(edgeinfer_browser, name) for name in names)


def test_every_error_class_is_exported() -> None:
    from edgeinfer_browser import errors

    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")}
    assert defined <= set(edgeinfer_browser.__all__)


def test_the_package_and_its_page_side_import_without_any_extra() -> None:
    source = WITHOUT_EXTRAS + "import edgeinfer_browser, edgeinfer_browser.rpc, edgeinfer_browser.benchmark"
    assert run_python(source).stderr == ""


def test_importing_the_package_loads_no_extra_even_where_it_is_installed() -> None:
    done = run_python("import sys, edgeinfer_browser; print(*{name.partition('.')[0] for name in sys.modules})")
    assert done.stderr == ""
    assert not {"numpy", "onnxruntime", "tokenizers", "httpx", "starlette"} & set(done.stdout.split())


def test_a_text_is_tokenized_without_any_extra() -> None:
    source = (
        WITHOUT_EXTRAS
        + "from tests.unit.fakes import TOKENIZER\n"
        + "from edgeinfer_browser.tokenizers import load_tokenizer\n"
        + "tokenizer = load_tokenizer(TOKENIZER)\n"
        + "print(tokenizer.implementation, tokenizer.encode('Good day').ids)"
    )
    done = run_python(source)
    assert (done.stdout.strip(), done.stderr) == ("python [2, 4, 6, 3]", "")


def test_only_the_native_bridge_needs_httpx_and_only_when_it_is_asked_for() -> None:
    source = (
        WITHOUT_EXTRAS
        + "from edgeinfer_browser.bridge import default_bridge\n"
        + "try:\n    default_bridge()\nexcept ModuleNotFoundError as error:\n    print(error.name)"
    )
    assert run_python(source).stdout.strip() == "httpx"


def test_the_version_stands_in_package_json_alone() -> None:
    package = json.loads((PROJECT / "package.json").read_text(encoding="utf-8"))
    assert metadata.version("edgeinfer-browser") == package["version"]
