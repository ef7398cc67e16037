import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CallRecord, Metrics, meanTopScore } from "../../js_shim/metric.js";
import { ShimError } from "../../js_shim/shim_error.js";

const SHAPE = JSON.parse(readFileSync(new URL("../metric_shape.json", import.meta.url), "utf8"));

/** @returns {import("../../js_shim/protocol").InferenceMetric} */
const told = () => ({
  timestamp: 1,
  model: "tiny",
  revision: "r1",
  task: "text-classification",
  tier: "wasm",
  dtype: "q8",
  latency_ms: { tokenise: 1, queue: 2, run: 3, post: 4, total: 10 },
  tokens_in: 5,
  items: 1,
  cold_start: false,
  fallback: null,
  confidence: 0.9,
  error: null,
});

const sum = (/** @type {import("../../js_shim/protocol").InferenceMetric["latency_ms"]} */ parts) =>
  parts.tokenise + parts.queue + parts.run + parts.post;

const close = (/** @type {number} */ a, /** @type {number} */ b) =>
  assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

test("a call that the API answers has the shape that Python gives", () => {
  const record = new CallRecord("tiny", "sentiment-analysis", ["a", "b"]);
  record.asks();
  record.answered("q8", true, 0.75);
  const metric = record.metric();
  assert.deepEqual(Object.keys(metric), SHAPE.metric);
  assert.deepEqual(Object.keys(metric.latency_ms), SHAPE.latency_ms);
  const { tier, dtype, task, items, cold_start, confidence, error, tokens_in, revision } = metric;
  assert.deepEqual([tier, dtype, task, items], ["api", "q8", "text-classification", 2]);
  assert.deepEqual([cold_start, confidence, error, tokens_in, revision], [true, 0.75, null, null, null]);
  assert.ok(Math.abs(metric.timestamp - Date.now() / 1000) < 60);
  close(sum(metric.latency_ms), metric.latency_ms.total);
});

test("Python's metric is kept, and the way to its worker and back is queue", async () => {
  const record = new CallRecord("other", "other", "text");
  await new Promise((resolve) => setTimeout(resolve, 15));
  record.told = told();
  const { latency_ms: parts, ...rest } = record.metric();
  const { latency_ms: before, ...same } = told();
  assert.deepEqual(rest, same);
  assert.ok(parts.total >= 14, `${parts.total}`);
  close(parts.total - before.total, parts.queue - before.queue);
  assert.deepEqual([parts.tokenise, parts.run, parts.post], [1, 3, 4]);
});

test("a clock that is behind Python's takes nothing away", () => {
  const record = new CallRecord("tiny", "x", "text");
  record.told = told();
  assert.deepEqual(record.metric().latency_ms, told().latency_ms);
});

test("a call that fails on the page tells the class of its error, and no text", () => {
  const secret = "zanzibar";
  const thrown = [
    [new ShimError("RemoteError", secret), "RemoteError"],
    [new TypeError(secret), "TypeError"],
    [new DOMException(secret, "AbortError"), "AbortError"],
    [secret, "Error"],
    [Object.assign(new Error("x"), { name: `my ${secret}` }), "Error"],
    [null, "Error"],
  ];
  for (const [error, name] of thrown) {
    const record = new CallRecord("tiny", "text-classification", secret);
    record.asks();
    const metric = record.metric(error);
    assert.equal(metric.error, name);
    assert.equal(metric.tier, null);
    assert.ok(!JSON.stringify(metric).includes(secret));
    close(sum(metric.latency_ms), metric.latency_ms.total);
  }
});

test("what is no text is no item", () => {
  assert.equal(new CallRecord("tiny", "x", undefined).metric(new TypeError()).items, 0);
  assert.equal(new CallRecord("tiny", "x", []).metric().items, 0);
});

test("the confidence of labels is the mean of the best scores; other answers have none", () => {
  const [a, b] = [[{ label: "x", score: 0.9 }], [{ label: "y", score: 0.5 }]];
  assert.equal(meanTopScore(a, false), 0.9);
  assert.equal(meanTopScore([a, b], true), 0.7);
  assert.equal(meanTopScore([], true), null);
  assert.equal(meanTopScore([0.1, 0.2], false), null);
});

for (const kind of ["throws", "rejects"]) {
  test(`a listener that ${kind} is called no more, and that is told once`, async () => {
    let calls = 0;
    const listener = () => {
      calls++;
      if (kind === "throws") throw new Error("disk full");
      return Promise.reject(new Error("disk full"));
    };
    /** @type {import("../../js_shim/protocol").Notice[]} */
    const heard = [];
    const metrics = new Metrics(listener, (notice) => heard.push(notice));
    assert.ok(metrics.open);
    await Promise.all([metrics.put(told()), metrics.put(told())]);
    await metrics.put(told());
    assert.ok(!metrics.open);
    assert.ok(calls <= 2);
    assert.deepEqual(heard, metrics.notices);
    assert.equal(heard.length, 1);
    assert.equal(heard[0].kind, "metric_sink_dropped");
    assert.match(heard[0].message, /disk full/);
  });
}

test("without a listener nothing is heard, and nothing fails", async () => {
  const metrics = new Metrics(undefined, () => assert.fail("a notice"));
  assert.ok(!metrics.open);
  await metrics.put(told());
});
