import assert from "node:assert/strict";
import { test } from "node:test";
import { PythonClient } from "../../js_shim/python_client.js";
import { FakeWorker, withGlobals } from "./fakes.js";

/**
 * A client whose worker answers as `answer` says.
 * @param {import("node:test").TestContext} context
 * @param {(request: any) => object | null} answer null: the worker dies
 */
function client(context, answer) {
  FakeWorker.made = [];
  FakeWorker.behave = (worker, request) => {
    const data = answer(request);
    if (data) worker.onmessage({ data: { id: request.id, ...data } });
    else worker.onerror({ preventDefault: () => {}, message: "doomed" });
  };
  withGlobals(context, { Worker: FakeWorker });
  return new PythonClient("https://host.test/python_worker.js");
}

test("a call's metric is told before its result, and to nobody who did not ask", async (context) => {
  const told = /** @type {unknown[]} */ ([]);
  const asked = client(context, () => ({ result: 5, metric: { tier: "wasm" } }));
  const result = asked.ask("call", {}, (metric) => told.push(metric)).then((value) => told.push(value));
  await result;
  assert.deepEqual(told, [{ tier: "wasm" }, 5]);
  assert.equal(await asked.ask("call", {}), 5);
});

test("a call's metric is told with its error too", async (context) => {
  const told = /** @type {unknown[]} */ ([]);
  const error = { name: "InputError", message: "no", details: {} };
  const asked = client(context, () => ({ error, metric: { error: "InputError" } }));
  await assert.rejects(
    asked.ask("call", {}, (metric) => told.push(metric)),
    { name: "InputError" },
  );
  assert.deepEqual(told, [{ error: "InputError" }]);
});

test("a worker that dies tells no metric: the page has the call's own", async (context) => {
  const asked = client(context, () => null);
  await assert.rejects(
    asked.ask("call", {}, () => assert.fail("a metric")),
    { name: "SessionError", message: /doomed/ },
  );
});
