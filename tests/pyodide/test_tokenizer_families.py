"""Every family of tokenizers says inside Pyodide, whose Unicode tables are of another version, what Rust says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

import tests.conformance
from edgeinfer_browser.tokenizers import load_tokenizer
from tests.conformance.compare import Question, digest, questions
from tests.conformance.real import both, evaluation_texts, names, random_questions
from tests.conformance.samples import Samples
from tests.conformance.synthetic import cases
from tests.conformance.synthetic_models import WORDS
from tests.pyodide.conftest import RUNTIMES
from tests.pyodide.hosts import install, python

#: What asks the questions there is the same source as here.
MODULES = ("__init__", "compare", "everyday", "samples", "tokenizer_samples")

SHIP = """
import json, os, sys
os.makedirs("/shipped/tests/conformance")
open("/shipped/tests/__init__.py", "w").close()
for name, source in json.loads({sources!r}).items():
    with open(f"/shipped/tests/conformance/{{name}}.py", "w") as file:
        file.write(source)
sys.path.insert(0, "/shipped")
None
"""

ASK = """
import json
from pyodide.http import pyfetch
from edgeinfer_browser.tokenizers import Tokenizer
from tests.conformance.compare import Question, digest

async def ask(url, asked):
    tokenizer = Tokenizer.from_buffer(await (await pyfetch(url)).bytes())
    return [digest(Question(*one).ask(tokenizer)) for one in asked]

json.dumps(await ask({url!r}, json.loads({asked!r})))
"""

ASK_SYNTHETIC = """
import json
from pyodide.http import pyfetch
from edgeinfer_browser.tokenizers import Tokenizer
from tests.conformance.compare import Question, digest

def told(spec, asked):
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    return [digest(Question(*one).ask(tokenizer)) for one in asked]

json.dumps([told(*case) for case in await (await pyfetch("/synthetic.json")).json()])
"""


@pytest.fixture
def run(page: Page, python_site: str, wheel_name: str, version: str) -> Callable[[str], Any]:
    runner = python(page, version)
    install(runner, version, python_site, wheel_name)
    folder = Path(tests.conformance.__file__).parent
    runner(SHIP.format(sources=json.dumps({name: (folder / f"{name}.py").read_text("utf-8") for name in MODULES})))
    return runner


def _differing(asked: list[Question], expected: list[str], told: list[str]) -> list[Question]:
    return [question for question, *pair in zip(asked, expected, told, strict=True) if len({*pair}) > 1][:5]


@pytest.mark.parametrize("version", RUNTIMES)
def test_the_real_tokenizers(run: Callable[[str], Any], version: str) -> None:
    found = {}
    for name in names():
        asked = [*random_questions(name, f"Pyodide {version}", 500), Question("single", evaluation_texts()[:200])]
        expected = [digest(question.ask(both(name)[0])) for question in asked]
        told = run(ASK.format(url=f"/tokenizers/{name}/tokenizer.json", asked=json.dumps([*map(astuple, asked)])))
        found[name] = _differing(asked, expected, told)
    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.parametrize("version", RUNTIMES)
def test_the_synthetic_tokenizers(run: Callable[[str], Any], page: Page, version: str) -> None:
    asked = {name: [*questions(Samples(f"{name} Pyodide", WORDS), 5)] for name in cases()}
    body = json.dumps([(spec, [*map(astuple, asked[name])]) for name, spec in cases().items()])
    page.route("**/synthetic.json", lambda route: route.fulfill(body=body, content_type="application/json"))
    answers = dict(zip(cases(), run(ASK_SYNTHETIC), strict=True))
    found = {}
    for name, spec in cases().items():
        rust = load_tokenizer(json.dumps(spec).encode())
        found[name] = _differing(asked[name], [digest(question.ask(rust)) for question in asked[name]], answers[name])
    assert {name: some for name, some in found.items() if some} == {}
