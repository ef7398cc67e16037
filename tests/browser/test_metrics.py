"""Every call from a page leaves one metric. First assertion: which tier answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeinfer_browser.errors import EdgeInferError, RemoteError
from tests.browser.client import Client

ROOT = Path(__file__).parents[2]
SHAPE = json.loads((ROOT / "tests/metric_shape.json").read_text("utf-8"))
TEXT = "good zanzibar film"

LOAD = """async (options, load) => {
  globalThis.metrics = [];
  globalThis.pipeline = await load({ ...options, onMetric: (metric) => metrics.push(metric) });
  return pipeline.info;
}"""

#: Put before the session worker's script: from the third run on (the proof and a call went well), runs are rejected.
REJECT_RUNS = """
let runs = 0;
addEventListener("message", (event) => {
  if (event.data.type !== "run" || runs++ < 2) return;
  event.stopImmediatePropagation();
  const error = { name: "RunError", message: "lost at: good zanzibar film", details: {} };
  postMessage({ id: event.data.id, error });
});
"""


def load(client: Client, **options: Any) -> dict[str, Any]:
    """Load the tiny model with a listener for metrics; ``info``."""
    merged = {"task": "text-classification", "model": "models/tiny/", **options}
    info: dict[str, Any] = client.evaluate(LOAD, merged)
    return info


def metrics(client: Client) -> list[dict[str, Any]]:
    """The metrics so far, none of which may have a word of the text in it."""
    told = list(client.page.evaluate("metrics"))
    assert not any(word in json.dumps(told) for word in TEXT.split())
    for metric in told:
        assert list(metric) == SHAPE["metric"]
        assert list(metric["latency_ms"]) == SHAPE["latency_ms"]
    return told


def parts(metric: dict[str, Any]) -> float:
    """Milliseconds of all parts of a call."""
    added: float = metric["fallback"]["added_ms"] if metric["fallback"] else 0.0
    return added + sum(float(value) for name, value in metric["latency_ms"].items() if name != "total")


def test_a_call_on_wasm(client: Client) -> None:
    load(client, tier="wasm")
    labels, info = client.call(TEXT)
    assert info["last"]["tier"] == "wasm"
    client.call([TEXT, "good film"])
    first, second = metrics(client)
    assert (first["tier"], first["dtype"], first["model"]) == ("wasm", "q8", "tiny")
    assert (first["revision"], first["task"]) == (info["revision"], "text-classification")
    assert (first["items"], first["tokens_in"], first["confidence"]) == (1, 5, labels[0]["score"])
    assert (first["fallback"], first["error"], first["cold_start"]) == (None, None, True)
    assert (second["items"], second["tokens_in"], second["cold_start"]) == (2, 9, False)
    assert first["latency_ms"]["run"] > 0
    assert parts(first) == pytest.approx(first["latency_ms"]["total"])


def test_a_call_on_the_api_without_python(client: Client) -> None:
    load(client, tier="api", api="api/")
    labels, info = client.call(TEXT)
    assert info["last"]["tier"] == "api"
    (metric,) = metrics(client)
    assert not client.fetched(".whl")
    assert (metric["tier"], metric["dtype"], metric["model"]) == ("api", info["last"]["dtype"], "tiny")
    assert (metric["revision"], metric["tokens_in"], metric["items"]) == (None, None, 1)
    assert (metric["confidence"], metric["cold_start"]) == (labels[0]["score"], True)
    assert parts(metric) == pytest.approx(metric["latency_ms"]["total"])


def test_a_call_that_moves_to_the_next_tier(client: Client, instrument: Callable[[str, str], str]) -> None:
    load(client, api="api/", runtime=instrument("session_worker.js", REJECT_RUNS))
    tiers = [client.call(TEXT)[1]["last"]["tier"] for _ in range(3)]
    assert tiers == ["wasm", "api", "api"]
    before, moved, after = metrics(client)
    assert [metric["tier"] for metric in (before, moved, after)] == tiers
    assert list(moved["fallback"]) == SHAPE["fallback"]
    assert (moved["fallback"]["from_tier"], moved["fallback"]["reason"]) == ("wasm", "RunError")
    assert moved["fallback"]["added_ms"] > 0
    assert (moved["error"], moved["cold_start"], moved["tokens_in"]) == (None, True, 5)
    assert parts(moved) == pytest.approx(moved["latency_ms"]["total"])
    assert (before["fallback"], after["fallback"]) == (None, None)


def test_an_api_that_fails_gives_way_and_the_metric_says_so(client: Client) -> None:
    load(client, api="api/", policy="prefer-remote")
    assert client.call(TEXT)[1]["last"]["tier"] == "api"
    _break_the_api(client)
    assert client.call(TEXT)[1]["last"]["tier"] == "wasm"
    metric = metrics(client)[-1]
    assert (metric["tier"], metric["fallback"]["from_tier"]) == ("wasm", "api")
    assert metric["fallback"]["reason"] == "RemoteError"


def test_a_call_that_fails_leaves_its_errors_class(client: Client) -> None:
    load(client, api="api/", tier="api")
    assert client.call(TEXT)[1]["last"]["tier"] == "api"
    _break_the_api(client)
    with pytest.raises(RemoteError, match="zanzibar"):
        client.call(TEXT)
    metric = metrics(client)[-1]
    assert (metric["tier"], metric["error"], metric["confidence"]) == (None, "RemoteError", None)
    assert parts(metric) == pytest.approx(metric["latency_ms"]["total"])


def _break_the_api(client: Client) -> None:
    """It answers 500 from now on, and quotes the text."""
    quoting = json.dumps({"error": f"cannot read: {TEXT}"})
    client.page.context.route("**/api/**", lambda route: route.fulfill(status=500, body=quoting))


def test_a_call_given_up_and_a_call_of_no_text_leave_one_each(client: Client) -> None:
    load(client, tier="wasm")
    assert client.call(TEXT)[1]["last"]["tier"] == "wasm"
    client.evaluate(
        """async (text) => {
          const controller = new AbortController();
          const call = pipeline(text, { signal: controller.signal });
          controller.abort();
          await call.catch(() => {});
        }""",
        TEXT,
    )
    with pytest.raises(EdgeInferError):
        client.call(None)
    assert [metric["error"] for metric in metrics(client)] == [None, "AbortError", "InputError"]


def test_a_listener_that_throws_is_dropped_with_a_notice(client: Client) -> None:
    load(client, tier="wasm")
    client.evaluate("() => { globalThis.metrics = null; }")
    labels, info = client.call(TEXT)
    assert info["last"]["tier"] == "wasm"
    assert labels[0]["label"] == "positive"
    client.call(TEXT)
    info = client.call(TEXT)[1]
    assert [notice["kind"] for notice in info["notices"]] == ["metric_sink_dropped"]
