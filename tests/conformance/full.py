"""The whole comparison: so many random strings of each real tokenizer, and a table of how many are equal.

``python -m tests.conformance.full`` runs it in two processes, niced. What is done is kept under
``.cache/conformance/``, for exactly this source, so a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import tokenizers

import edgeinfer_browser.tokenizers as port
from edgeinfer_browser.tokenizers import TokenizerLike, load_tokenizer
from tests.conformance.compare import Question, difference, differences, questions
from tests.conformance.real import both, evaluation_questions, names, random_questions
from tests.conformance.samples import Samples
from tests.conformance.synthetic import cases, combination
from tests.conformance.synthetic_models import WORDS, Spec

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 5_000
EVALUATION = -1
#: Rows of the table for many synthetic tokenizers: one for each option, and random components together.
SYNTHETIC, TOGETHER = "synthetic", "together"
#: Strings for each tokenizer of random components.
EACH = 25
Row = dict[str, Any]
#: The Rust library, the port, and what to ask both.
Asked = tuple[TokenizerLike, TokenizerLike, list[Question]]


def work(name: str, chunk: int) -> Row:
    """Compare one chunk: how many strings, how many equal, and the first differences in words."""
    if name == SYNTHETIC:
        each = CHUNK // len(cases())
        return _row(name, chunk, (_synthetic(f"{case} {chunk}", spec, each) for case, spec in cases().items()))
    if name == TOGETHER:
        seeds = range(1_000 + chunk * CHUNK // EACH, 1_000 + (chunk + 1) * CHUNK // EACH)
        return _row(name, chunk, (_synthetic(f"together {seed}", combination(seed), EACH) for seed in seeds))
    asked = evaluation_questions() if chunk == EVALUATION else [*random_questions(name, str(chunk), CHUNK)]
    return _row(name, chunk, [(*both(name), asked)])


def _synthetic(name: str, spec: Spec, strings: int) -> Asked:
    data = json.dumps(spec).encode()
    added = [token["content"] for token in spec["added_tokens"]]
    asked = [*questions(Samples(name, WORDS, added), strings)]
    return load_tokenizer(data), load_tokenizer(data, prefer_rust=False), asked


def _row(name: str, chunk: int, parts: Iterable[Asked]) -> Row:
    strings, unequal, said = 0, 0, list[str]()
    for rust, ours, asked in parts:
        found = differences(rust, ours, asked)
        strings += _strings(asked)
        unequal += _strings(found)
        said += [difference(rust, ours, question) for question in found[:1]]
    return {"name": name, "chunk": chunk, "strings": strings, "equal": strings - unequal, "said": said[:5]}


def _strings(asked: list[Question]) -> int:
    return sum(len(question.texts) for question in asked)


def source_key() -> str:
    """A hash of everything that the answers depend on."""
    hashed = hashlib.sha256(f"{sys.version} {tokenizers.__version__}".encode())
    folders = (Path(port.__file__).parent, Path(__file__).parent)
    for path in sorted(path for folder in folders for path in folder.glob("*.py") if "test_" not in path.name):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def run(wanted: list[tuple[str, int]], log: Path, processes: int) -> Iterator[Row]:
    """The rows of all wanted chunks: those of the log, then the others as they are done (and logged)."""
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    done = {(row["name"], row["chunk"]): row for row in map(json.loads, lines)}
    yield from (done[key] for key in wanted if key in done)
    with ProcessPoolExecutor(processes, initializer=_quiet) as pool, log.open("a", encoding="utf-8") as file:
        for future in as_completed(pool.submit(work, *key) for key in wanted if key not in done):
            row = future.result()
            print(json.dumps(row), file=file, flush=True)
            yield row


def _quiet() -> None:
    os.nice(10)
    # A refusal of the Rust library is a panic, whose words go to the standard error by themselves.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def table(rows: list[Row]) -> str:
    """Markdown: tokenizer, strings, equal."""
    lines = ["| tokenizer | strings | equal |", "| --- | ---: | ---: |"]
    for name, group in groupby(sorted(rows, key=itemgetter("name")), itemgetter("name")):
        some = [*group]
        strings, equal = (sum(row[column] for row in some) for column in ("strings", "equal"))
        lines.append(f"| {name} | {strings:,} | {equal:,} ({100 * equal / strings:.4f} %) |")
    return "\n".join(lines)


def main() -> int:
    """Command line; the exit code is 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tokenizers (default: all that are here)")
    parser.add_argument("--strings", type=int, default=200_000, help="random strings of each (default: 200000)")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ |= {"RUST_BACKTRACE": "0", "TOKENIZERS_PARALLELISM": "false"}
    chunks = [EVALUATION, *range(-(-arguments.strings // CHUNK))]
    wanted = [(name, chunk) for name in arguments.names or [*names(), SYNTHETIC, TOGETHER] for chunk in chunks]
    log = ROOT / ".cache/conformance" / f"{source_key()}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in run(wanted, log, arguments.processes):
        rows.append(row)
        for line in row["said"]:
            print(f"{row['name']}: {line}", flush=True)
    print(table(rows))
    return int(any(row["equal"] < row["strings"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
