"""Classify or embed texts in a real headless browser and print a line of JSON for each.

Every line says which tier answered and with which dtype: the WebGPU and WASM tiers run in the browser, the API tier is
`edgeinfer serve` on loopback.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edgeinfer_browser.errors import InputError
from edgeinfer_browser.headless.page import call, served_page
from edgeinfer_browser.pipelines import TASKS
from edgeinfer_browser.policy import PRESETS

TIERS = ("auto", "webgpu", "wasm", "api")

_ANSWER = """async (load, { options, texts, callOptions }) => {
  const pipeline = await load(options);
  const results = [];
  for (const text of texts) {
    const answer = await pipeline(text, callOptions);
    results.push({ answer, last: pipeline.info.last, attempts: pipeline.info.attempts });
  }
  await pipeline.dispose();
  return results;
}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="what to classify or embed")
    parser.add_argument("--task", required=True, choices=sorted(TASKS))
    parser.add_argument("--model", required=True, type=Path, help="a packed model folder")
    parser.add_argument("--tier", default="auto", choices=TIERS, help="force a tier (default: auto)")
    parser.add_argument("--policy", default="prefer-local", choices=sorted(PRESETS))
    parser.add_argument("--dtype", help="force a dtype: fp32, fp16, q8, q4, q4f16")
    parser.add_argument("--top-k", type=int, default=1, help="labels for each text; 0 gives all (default: 1)")
    parser.add_argument("--head", help="the classifier to ask, of a model that has several (default: its first)")
    parser.add_argument("--runtime", type=Path, help="runtime folder (default: build/site/edgeinfer)")
    parser.add_argument("--browser", help="executable of a Chromium (default: the one on the PATH)")
    parser.add_argument("--explain", action="store_true", help="also print what became of the other tiers")


def main(arguments: argparse.Namespace) -> int:
    """Serve, open the page, classify, print."""
    model = model_folder(arguments.model)
    with served_page(model.parent, arguments.runtime, arguments.browser) as page:
        options = page_options(arguments.task, model.name, arguments.tier, arguments.policy, arguments.dtype)
        if arguments.head:
            options["head"] = arguments.head
        for line in lines(page, options, arguments.texts, arguments.top_k or None, explain=arguments.explain):
            print(json.dumps(line, ensure_ascii=False), flush=True)
    return 0


def model_folder(given: Path) -> Path:
    """The folder, resolved.

    Raises:
        InputError: when it is not a packed model.
    """
    if not (given / "edgeinfer.json").is_file():
        raise InputError(
            f"{given} has no edgeinfer.json. Pack the model first: edgeinfer pack SOURCE {given} --task ..."
        )
    return given.resolve()


def page_options(task: str, model: str, tier: str, policy: str, dtype: str | None) -> dict[str, Any]:
    """What the page's load() is given, for a model served below /models/ with the API below /api/."""
    options: dict[str, Any] = {"task": task, "model": f"/models/{model}/", "api": "/api/", "policy": policy}
    if tier != "auto":
        options["tier"] = tier
    return options | ({"dtype": dtype} if dtype else {})


def lines(
    page: Any, options: dict[str, Any], texts: Sequence[str], top_k: int | None, *, explain: bool = False
) -> Iterator[dict[str, Any]]:
    """One object for each text: tier, dtype, latency_ms, and label and score (all labels when more than one is wanted).

    For feature-extraction ``embedding`` in their place.
    """
    embeds = options["task"] == "feature-extraction"
    asked = {"options": options, "texts": list(texts), "callOptions": {} if embeds else {"topK": top_k}}
    for result in call(page, _ANSWER, asked):
        last, answer = result["last"], result["answer"]
        line = {"tier": last["tier"], "dtype": last["dtype"]}
        line |= {} if embeds else {"label": answer[0]["label"], "score": answer[0]["score"]}
        line["latency_ms"] = round(last["latency_ms"], 2)
        if embeds:
            line["embedding"] = answer
        elif top_k != 1:
            line["labels"] = answer
        if explain:
            line["attempts"] = result["attempts"]
        yield line
