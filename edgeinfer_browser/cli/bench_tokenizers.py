"""`edgeinfer bench tokenizers`: this package in Pyodide against `@huggingface/tokenizers` in JavaScript, in one page.

Each round gives both the same sentences, which neither has met before, in alternating order; a ratio is the median
over the rounds. Cold start is the time from the bytes of ``tokenizer.json`` to the first encoded sentence.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from edgeinfer_browser.cli.run import model_folder
from edgeinfer_browser.errors import InputError
from edgeinfer_browser.headless.page import call, find_runtime, served_page

#: Tokenizer -> what it is, and the ratio to the peer's time that it should not exceed (None: reported only).
FAMILIES: dict[str, tuple[str, float | None]] = {
    "minilm": ("WordPiece", 2.0),
    "gpt2": ("byte-level BPE", 2.0),
    "llama3": ("byte-level BPE", 2.0),
    "llama2": ("BPE with byte fallback", None),
    "t5": ("Unigram", 3.0),
    "tokenlearn": ("Unigram", 3.0),
}
SENTENCES = 1_000
#: Rounds that are thrown away first: the compilers are still at work.
WARM_UP = 2
COLD_STARTS = 3

_PYTHON = """
from edgeinfer_browser.tokenizers import Tokenizer

class Bench:
    def start(self, buffer, sentence):
        self.tokenizer = Tokenizer.from_buffer(buffer.to_bytes())
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode(sentence)

    def take(self, sentences):
        self.sentences = sentences.to_py()

    def encode(self):
        encode = self.tokenizer.encode
        for sentence in self.sentences:
            encode(sentence)

    def ids(self):
        from pyodide.ffi import to_js
        return to_js([self.tokenizer.encode(sentence).ids for sentence in self.sentences])

Bench()
"""

_START = """async (_, { wheel }) => {
  const { loadPyodide } = await import("/edgeinfer/pyodide/pyodide.mjs");
  const pyodide = await loadPyodide();
  pyodide.unpackArchive(await (await fetch(wheel)).arrayBuffer(), "wheel");
  const { Tokenizer } = await import("/peer/tokenizers.min.mjs");
  globalThis.bench = { ours: pyodide.runPython(PYTHON), Tokenizer };
  return pyodide.runPython("import sys; sys.version.split()[0]");
}""".replace("PYTHON", json.dumps(_PYTHON))

_COLD = """async (_, { name, sentence, times }) => {
  const { ours, Tokenizer } = globalThis.bench;
  const data = await (await fetch(`/tokenizers/${name}/tokenizer.json`)).arrayBuffer();
  const timed = (work) => {
    const before = performance.now();
    work();
    return performance.now() - before;
  };
  const steps = {
    ours: () => ours.start(data, sentence),
    theirs: () => {
      bench.theirs = new Tokenizer(JSON.parse(new TextDecoder().decode(data)), {});
      bench.theirs.encode(sentence);
    },
  };
  const found = { ours: [], theirs: [] };
  for (let time = 0; time < times; time++) {
    const order = time % 2 ? ["ours", "theirs"] : ["theirs", "ours"];
    for (const who of order) found[who].push(timed(steps[who]));
  }
  return found;
}"""

_ROUNDS = """async (_, { rounds }) => {
  const { ours, theirs } = globalThis.bench;
  const found = { ours: [], theirs: [], equal: 0 };
  for (const [index, sentences] of rounds.entries()) {
    ours.take(sentences);
    const steps = {
      ours: () => ours.encode(),
      theirs: () => {
        for (const sentence of sentences) theirs.encode(sentence);
      },
    };
    for (const who of index % 2 ? ["ours", "theirs"] : ["theirs", "ours"]) {
      const before = performance.now();
      steps[who]();
      found[who].push(performance.now() - before);
      await new Promise((resolve) => setTimeout(resolve));
    }
    const ids = ours.ids();
    found.equal += sentences.filter((text, at) => `${theirs.encode(text).ids}` === `${ids[at]}`).length;
  }
  return found;
}"""


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    """The options of this measurement alone."""
    parser.add_argument("--tokenizers", type=Path, default=Path(".cache/tokenizers"), help="folder of tokenizers")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, metavar="NAME", help=f"some of {', '.join(FAMILIES)}")
    parser.add_argument("--rounds", type=int, default=11, help=f"rounds of {SENTENCES} sentences (default: 11)")
    texts = Path(".cache/sources/sentiment_texts")
    help_texts = "files of sentences, one a line, the last of its columns (default: the rated texts)"
    parser.add_argument("--texts", type=Path, default=texts, metavar="DIR", help=help_texts)
    peer = Path("node_modules/@huggingface/tokenizers")
    parser.add_argument("--peer", type=Path, default=peer, help="the npm package (default: in node_modules)")


def main(arguments: argparse.Namespace) -> int:
    """Measure and print one line of JSON for each tokenizer."""
    rounds = sentences(arguments.texts, arguments.rounds + WARM_UP)
    version = json.loads((arguments.peer / "package.json").read_text("utf-8"))["version"]
    with page(arguments) as opened:
        (wheel,) = find_runtime(arguments.runtime).glob("*.whl")
        python = call(opened, _START, {"wheel": f"/edgeinfer/{wheel.name}"})
        for name in arguments.only or FAMILIES:
            line = measure(opened, name, rounds)
            print(json.dumps(line | {"python": python, "peer": f"@huggingface/tokenizers {version}"}), flush=True)
    return 0


def sentences(folder: Path, rounds: int) -> list[list[str]]:
    """So many rounds of different sentences, in a fixed order.

    Raises:
        InputError: when there are too few.
    """
    lines = [line for path in sorted(folder.glob("*_*.txt")) for line in path.read_text("utf-8").split("\n") if line]
    texts = sorted({line.rpartition("\t")[2] for line in lines})
    random.Random(1).shuffle(texts)
    if len(texts) < rounds * SENTENCES:
        raise InputError(f"{folder} has {len(texts)} sentences; {rounds} rounds need {rounds * SENTENCES}.")
    return [texts[start : start + SENTENCES] for start in range(0, rounds * SENTENCES, SENTENCES)]


def page(arguments: argparse.Namespace) -> AbstractContextManager[Page]:
    """A page beside the runtime folder, the tokenizers and the peer."""
    links = {"peer": arguments.peer / "dist", "tokenizers": arguments.tokenizers}
    return served_page(model_folder(arguments.model).parent, arguments.runtime, arguments.browser, **links)


def measure(opened: Page, name: str, rounds: list[list[str]]) -> dict[str, Any]:
    """Medians in milliseconds of one tokenizer, ours and theirs, and the median ratio of the pairs."""
    cold = call(opened, _COLD, {"name": name, "sentence": rounds[0][0], "times": COLD_STARTS})
    times = call(opened, _ROUNDS, {"rounds": rounds})
    ours, theirs = times["ours"][WARM_UP:], times["theirs"][WARM_UP:]
    family, target = FAMILIES[name]
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return {
        "bench": "tokenizers",
        "tokenizer": name,
        "family": family,
        "sentences": SENTENCES,
        "rounds": len(ours),
        "ours_ms": round(statistics.median(ours), 1),
        "theirs_ms": round(statistics.median(theirs), 1),
        "ratio": round(ratio, 2),
        "target": target,
        "cold_ours_ms": round(statistics.median(cold["ours"])),
        "cold_theirs_ms": round(statistics.median(cold["theirs"])),
        "equal_ids": f"{times['equal']} of {len(rounds) * SENTENCES}",
    }
