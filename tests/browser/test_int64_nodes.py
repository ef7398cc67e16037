"""The nodes that advice says block the GPU are those that onnxruntime-web really puts on the CPU."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
import pytest
from onnx import parser

from edgeinfer_browser.headless.session import BUILDS, web_sessions
from edgeinfer_browser.packing.int64_nodes import int64_nodes

#: Each op type once, so that a type names a node.
GRAPH = """<ir_version: 9, opset_import: ["" : 19]>
mixed (float[b,n,8] x, float[v,8] table) => (float[b,n,8] y, float[b,n] z)
<int64[1] one = {1}, int64 axis = {1}, int64 zero = {0}> {
  best = ArgMax<axis=2, keepdims=0>(x)
  next = Add(best, one)
  none = Equal(next, zero)
  some = Not(none)
  sum = CumSum(next, axis)
  kept = Where(some, sum, next)
  z = Cast<to=1>(kept)
  rows = Gather(table, best)
  y = Mul(rows, x)
}"""

_PLACEMENT = """async ({ module, wasm }) => {
  const ort = await import(`/edgeinfer/ort/${module}`);
  ort.env.wasm.wasmPaths = { wasm: new URL(`/edgeinfer/ort/${wasm}`, location).href };
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "verbose";
  const model = new Uint8Array(await (await fetch("/files/mixed.onnx")).arrayBuffer());
  await ort.InferenceSession.create(model, { executionProviders: ["webgpu"], logSeverityLevel: 0 });
}"""


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Execution provider -> op types of the nodes that it got, from ONNX Runtime's own log."""
    folder = tmp_path_factory.mktemp("int64")
    onnx.save(parser.parse_model(GRAPH), folder / "mixed.onnx")
    with ThreadPoolExecutor(1) as pool:  # the fixtures of other tests keep Playwright in this thread
        return pool.submit(_placed, folder).result(timeout=120)


def _placed(folder: Path) -> dict[str, set[str]]:
    lines: list[str] = []
    module, wasm = BUILDS["webgpu"]
    with web_sessions(folder) as web:
        web.page.on("console", lambda message: lines.append(message.text))
        web.page.evaluate(_PLACEMENT, {"module": module, "wasm": wasm})
    found: dict[str, set[str]] = {}
    provider = ""
    for line in lines:
        if heading := re.search(r"Node\(s\) placed on \[(\w+)\]", line):
            provider = heading[1]
        elif provider and (node := re.search(r"VerifyEachNodeIsAssignedToAnEp\]\s+(\w+) \(", line)):
            found.setdefault(provider, set()).add(node[1])
    return found


def test_int64_computations_run_on_the_cpu_and_the_rest_on_the_gpu(placed: dict[str, set[str]]) -> None:
    gpu, cpu = placed["WebGpuExecutionProvider"], placed["CPUExecutionProvider"]
    assert {"ArgMax", "Gather", "Mul"} <= gpu
    assert set(int64_nodes(parser.parse_model(GRAPH).graph)) == cpu
