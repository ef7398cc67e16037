"""Measure this package against a named peer, in the same run.

`edgeinfer bench latency` times one call from Python (in Pyodide, in a real headless browser) against the same
session.run of onnxruntime-web in JavaScript: pairs in one session, medians, and their ratio.
`edgeinfer bench tokenizers` times encoding everyday sentences in Pyodide against @huggingface/tokenizers in JavaScript.
`edgeinfer bench quantized` times a packed model's int8 file against plain int8, or another file, in WASM.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from edgeinfer_browser.cli import bench_tokenizers
from edgeinfer_browser.cli.run import model_folder, page_options
from edgeinfer_browser.headless.page import call, served_page

#: 30 word pieces and two special tokens: 32 tokens of a BERT vocabulary.
TEXT_32 = (
    "the room was clean and quiet the staff were kind to us all week and we would stay here again "
    "with our old friends and all the kids next summer"
)

_BENCH = """async (load, { options, text, pairs }) => {
  const pipeline = await load(options);
  const times = await pipeline.bench(text, pairs);
  await pipeline.dispose();
  return times;
}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("what", choices=["latency", "quantized", "tokenizers"], help="what to measure")
    parser.add_argument("--model", type=Path, default=Path("build/models/sentiment"), help="a packed model folder")
    parser.add_argument("--task", default="text-classification")
    parser.add_argument("--tier", default="wasm", choices=["wasm", "webgpu"])
    parser.add_argument("--dtype", help="force a dtype")
    parser.add_argument("--pairs", type=int, default=200, help="pairs of timings (default: 200)")
    parser.add_argument("--text", default=TEXT_32, help="the text to time (default: one of 32 tokens)")
    parser.add_argument("--runtime", type=Path, help="runtime folder (default: build/site/edgeinfer)")
    parser.add_argument("--browser", help="executable of a Chromium (default: the one on the PATH)")
    quantized = parser.add_argument_group("quantized")
    quantized.add_argument(
        "--against", type=Path, metavar="B", help="packed folder or .onnx file (default: plain int8)"
    )
    quantized.add_argument("--tokens", type=int, nargs="+", default=[8, 32, 128], metavar="N", help="lengths of texts")
    bench_tokenizers.add_arguments(parser.add_argument_group("tokenizers"))


def main(arguments: argparse.Namespace) -> int:
    """Measure and print lines of JSON."""
    benches = {"latency": latency, "quantized": quantized, "tokenizers": bench_tokenizers.main}
    return benches[arguments.what](arguments)


def quantized(arguments: argparse.Namespace) -> int:
    """Measure an int8 file against another; needs onnx, which the other measurements do without."""
    from edgeinfer_browser.cli import bench_quantized

    return bench_quantized.main(arguments)


def latency(arguments: argparse.Namespace) -> int:
    """Measure one call and print one line of JSON."""
    model = model_folder(arguments.model)
    with served_page(model.parent, arguments.runtime, arguments.browser) as page:
        options = page_options(arguments.task, model.name, arguments.tier, "only-local", arguments.dtype)
        times = call(page, _BENCH, {"options": options, "text": arguments.text, "pairs": arguments.pairs})
    print(json.dumps(summary(times)))
    return 0


def summary(times: dict[str, Any]) -> dict[str, Any]:
    """Medians in milliseconds and the ratios to ``session.run``; a ratio is the median over the pairs."""
    call_ms, run_ms, session_ms = times["call"], times["run"], times["session"]
    return {
        "tier": times["tier"],
        "dtype": times["dtype"],
        "tokens": times["tokens"],
        "pairs": len(session_ms),
        "python_call_ms": round(statistics.median(call_ms), 3),
        "python_run_ms": round(statistics.median(run_ms), 3),
        "js_session_run_ms": round(statistics.median(session_ms), 3),
        "call_ratio": round(_ratio(call_ms, session_ms), 3),
        "run_ratio": round(_ratio(run_ms, session_ms), 3),
    }


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
