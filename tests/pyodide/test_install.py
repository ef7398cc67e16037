"""The wheel installs by micropip in raw Pyodide, and three lines give an answer: on the page and in a worker."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.pyodide.conftest import RUNTIMES
from tests.pyodide.hosts import HOSTS, install, python

THREE_LINES = """
import json
from edgeinfer_browser import pipeline
sentiment = await pipeline("text-classification", model="/models/{model}/")
labels = await sentiment("I love it, good film")
json.dumps({{"labels": labels, "info": sentiment.info.to_json()}})
"""


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("version", RUNTIMES)
def test_micropip_installs_the_wheel_and_three_lines_answer(
    page: Page, python_site: str, wheel_name: str, version: str, host: str
) -> None:
    run = python(page, version, host)
    install(run, version, python_site, wheel_name)
    answer = run(THREE_LINES.format(model="sentiment" if version == "314.0.7" else "tiny"))
    assert answer["info"]["last"]["tier"] == "wasm"
    assert answer["labels"][0]["label"] == "positive"
    assert answer["info"]["tokenizer"] == "python"
    assert answer["info"]["capabilities"]["host"] == ("window" if host == "page" else "worker")


@pytest.mark.parametrize("version", RUNTIMES)
def test_the_package_needs_nothing_but_the_standard_library(
    page: Page, python_site: str, wheel_name: str, version: str
) -> None:
    run = python(page, version)
    install(run, version, python_site, wheel_name)
    loaded = run("import json, sys, edgeinfer_browser\njson.dumps(sorted({m.partition('.')[0] for m in sys.modules}))")
    assert "edgeinfer_browser" in loaded
    assert not {"numpy", "httpx", "onnxruntime", "starlette", "tokenizers"} & set(loaded)


def test_errors_of_the_shim_arrive_as_their_classes(page: Page, python_site: str, wheel_name: str) -> None:
    run = python(page, "314.0.7")
    install(run, "314.0.7", python_site, wheel_name)
    name, url, status = run("""
import json
from edgeinfer_browser import NotFoundError, pipeline
try:
    await pipeline("text-classification", model="/models/nowhere/")
except NotFoundError as error:
    said = [type(error).__name__, error.details["url"], error.details["status"]]
json.dumps(said)
""")
    assert name == "NotFoundError"
    assert url.endswith("/models/nowhere/edgeinfer.json")
    assert status == 404


def test_a_python_progress_callback_is_called_and_its_proxy_destroyed(
    page: Page, python_site: str, wheel_name: str
) -> None:
    run = python(page, "314.0.7")
    install(run, "314.0.7", python_site, wheel_name)
    stages = run("""
import json
from edgeinfer_browser import pipeline
events = []
tiny = await pipeline("text-classification", model="/models/tiny/", on_progress=events.append)
json.dumps([event["stage"] for event in events])
""")
    assert stages[0] == "probe"
    assert stages[-1] == "ready"
    assert "model" in stages
