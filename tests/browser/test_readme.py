"""The README's examples do what they say, on the real model."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import ROOT, SENTIMENT

README = (ROOT / "README.md").read_text("utf-8")


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"the README has no {language} example"
    return found[1]


def test_the_javascript_example_runs_on_a_page(page: Page) -> None:
    told = _block("js").replace("await sentiment.dispose();", "globalThis.info = sentiment.info;")
    page.add_script_tag(content=f"{told}\nglobalThis.labels = await sentiment('I love it');", type="module")
    page.wait_for_function("globalThis.labels")
    assert page.evaluate("info.tier") == "wasm"
    (label,) = page.evaluate("labels")
    stated = re.search(r'await sentiment\("I love it"\); // \[\{ label: "(\w+)", score: ([\d.]+) \}\]', told)
    assert stated
    assert label["label"] == stated[1]
    assert f"{label['score']:.4f}" == stated[2]


def test_the_python_example_runs_on_cpython() -> None:
    source = _block("python").replace("/models/sentiment/", str(SENTIMENT))
    code = compile(source, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def run() -> dict[str, Any]:
        names: dict[str, Any] = {}
        outcome = eval(code, names)
        if inspect.isawaitable(outcome):
            await outcome
        labels = await names["sentiment"]("I love it")
        tier = names["sentiment"].info.tier
        await names["sentiment"].close()
        return {"labels": labels, "tier": tier}

    with ThreadPoolExecutor(1) as pool:  # Playwright's sync API has an event loop running in this thread
        answer = pool.submit(asyncio.run, run()).result()
    assert answer["tier"] == "native"
    assert f'[{{"label": "positive", "score": {answer["labels"][0]["score"]:.4f}}}]' in source


def test_every_folder_of_the_map_exists() -> None:
    table = README.partition("## Folders")[2].partition("##")[0]
    paths = re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)
    assert len(paths) > 8
    assert [path for path in paths if not (ROOT / path).exists()] == []
