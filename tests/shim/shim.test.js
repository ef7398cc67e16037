import assert from "node:assert/strict";
import { test } from "node:test";
import { createShim } from "../../js_shim/shim.js";
import { FakeCaches, answer, fakeFetch, fakeWorkers, withGlobals } from "./fakes.js";

const URL_ = "https://host.test/models/tiny/config.json";
const FILE = JSON.stringify({ url: URL_, sha256: "", bytes: 0, timeout: 5 });
const PAGE = new URL("https://host.test/page/index.html");

const shim = (/** @type {object} */ config = {}) =>
  createShim(JSON.stringify({ sessionWorkerUrl: "worker.js", ...config }));
const error = (/** @type {import("../../js_shim/protocol").Reply} */ reply) => JSON.parse(reply.error);
const text = (/** @type {Uint8Array} */ bytes) => new TextDecoder().decode(bytes);

/**
 * A fetch that waits for its signal.
 * @param {string} _
 * @param {RequestInit} init
 * @returns {Promise<any>}
 */
const hang = (_, { signal }) =>
  new Promise((__, reject) => {
    const alive = setInterval(() => {}, 1000); // Node would end: the timer of AbortSignal.timeout does not hold it
    signal?.addEventListener("abort", () => {
      clearInterval(alive);
      reject(signal.reason);
    });
  });

test("a file crosses as bytes with an empty error", async (context) => {
  fakeFetch(context, () => answer(URL_, "{}"));
  const reply = await shim().fetchFile(FILE);
  assert.deepEqual([reply.error, reply.json, text(reply.payload)], ["", '{"notices":[]}', "{}"]);
});

test("two calls for one file at once both get it", async (context) => {
  fakeFetch(context, () => answer(URL_, "{}"));
  const made = shim();
  const replies = await Promise.all([made.fetchFile(FILE, undefined, 1), made.fetchFile(FILE, undefined, 2)]);
  assert.deepEqual(
    replies.map((reply) => reply.error || text(reply.payload)),
    ["{}", "{}"],
  );
});

for (const [why, ask] of /** @type {[string, (s: ReturnType<typeof shim>) => Promise<any>][]} */ ([
  ["text that is no JSON", (made) => made.run("{")],
  ["JSON of the wrong shape", (made) => made.createSession("null")],
  ["a session that was never made", (made) => made.run('{"session": 9, "tensors": [], "timeout": 1}')],
  [
    "a file that was never fetched",
    (made) => made.createSession('{"files": [{"path": "m", "key": "k"}], "timeout": 1}'),
  ],
  ["a file that is not there", (made) => made.fetchFile(FILE)],
  ["a host without workers", (made) => made.createSession('{"files": [], "timeout": 1}')],
])) {
  test(`no method rejects: ${why} is an error in the reply`, async (context) => {
    fakeFetch(context, () => answer(URL_, "", { status: 404 }));
    const reply = await ask(shim());
    assert.ok(error(reply).name.endsWith("Error"));
    assert.ok(error(reply).message);
    assert.deepEqual([reply.json, reply.payload.length], ["{}", 0]);
  });
}

test("abort ends the call of that number and no other", async (context) => {
  fakeFetch(context, hang);
  const made = shim();
  const [first, second] = [made.fetchFile(FILE, undefined, 1), made.fetchFile(FILE, undefined, 2)];
  let ended = false;
  void second.then(() => (ended = true));
  await new Promise((resolve) => setTimeout(resolve, 1));
  made.abort(1);
  made.abort(99);
  assert.match(error(await first).message, /cancelled/);
  assert.equal(ended, false);
  made.abort(2);
  await second;
});

test("abort after the end does nothing", async (context) => {
  fakeFetch(context, () => answer(URL_, "{}"));
  const made = shim();
  await made.fetchFile(FILE, undefined, 1);
  made.abort(1);
});

test("a fetched file goes to the session's worker as a Blob, and a run's bytes come back", async (context) => {
  const workers = fakeWorkers(context, (worker, { id, type }) =>
    worker.answer({
      id,
      value:
        type === "create" ? { inputNames: [] } : { tensors: [{ name: "y" }], payload: new Uint8Array([7]) },
    }),
  );
  fakeFetch(context, () => answer(URL_, "model"));
  const made = shim();
  const { key } = JSON.parse((await made.fetchToCache(FILE)).json);
  const create = { executionProvider: "wasm", files: [{ path: "m.onnx", key }], outputs: ["y"], timeout: 5 };
  const { session } = JSON.parse((await made.createSession(JSON.stringify(create))).json);
  assert.equal(await workers[0].requests[0].files[0].blob.text(), "model");
  assert.deepEqual(workers[0].requests[0].outputs, ["y"]);
  const reply = await made.run(JSON.stringify({ session, tensors: [], timeout: 5 }), new Uint8Array(1));
  assert.deepEqual([reply.error, reply.json, [...reply.payload]], ["", '[{"name":"y"}]', [7]]);
  await made.release(JSON.stringify({ session }));
  assert.equal(workers[0].terminated, true);
});

const request = (timeout = 5) =>
  JSON.stringify({ method: "POST", url: URL_, headers: { "X-Ask": "yes" }, timeout });

test("a request gives back whatever was answered", async (context) => {
  const calls = fakeFetch(context, () =>
    answer(URL_, "busy", { status: 503, headers: { "Retry-After": "3" } }),
  );
  const reply = await shim().request(request(), new TextEncoder().encode("abc"));
  const { status, headers } = JSON.parse(reply.json);
  assert.deepEqual([status, headers["retry-after"], text(reply.payload)], [503, "3", "busy"]);
  assert.equal(text(/** @type {any} */ (calls[0].init.body)), "abc");
});

test("a request without an answer is a RemoteError, one that is too slow a DeadlineError", async (context) => {
  fakeFetch(context, () => new TypeError("Failed to fetch"), hang);
  const made = shim();
  assert.equal(error(await made.request(request())).name, "RemoteError");
  assert.equal(error(await made.request(request(0.01))).name, "DeadlineError");
});

for (const [given, expected] of [
  ["/models/tiny/", "https://host.test/models/tiny/"],
  ["models/", "https://host.test/page/models/"],
  ["https://other.test/x", "https://other.test/x"],
]) {
  test(`the URL ${given} is absolute against the page's`, async (context) => {
    withGlobals(context, { location: PAGE });
    const reply = await shim().absoluteUrl(JSON.stringify({ url: given }));
    assert.deepEqual(JSON.parse(reply.json), { url: expected });
  });
}

test("a URL in a worker made from a Blob is absolute against the origin", async (context) => {
  withGlobals(context, { location: new URL("blob:https://host.test/123") });
  const reply = await shim().absoluteUrl('{"url": "/models/"}');
  assert.deepEqual(JSON.parse(reply.json), { url: "https://host.test/models/" });
});

test("what is no URL is an InputError that names it", async (context) => {
  withGlobals(context, { location: PAGE });
  assert.match(error(await shim().absoluteUrl('{"url": "http://["}')).message, /"http:\/\/\["/);
});

test("the runtime is where the host says, else where the wheel came from, else unknown", async (context) => {
  withGlobals(context, { location: PAGE });
  const wheel = JSON.stringify({ wheel: "https://cdn.test/edgeinfer/a-1-py3-none-any.whl" });
  const url = async (/** @type {object} */ config) =>
    JSON.parse((await shim(config).runtimeUrl(wheel)).json).url;
  assert.equal(await url({ runtimeUrl: "/runtime/" }), "https://host.test/runtime/");
  assert.equal(await url({}), "https://cdn.test/edgeinfer/");
  assert.equal(error(await shim().runtimeUrl('{"wheel": ""}')).name, "SessionError");
});

for (const caches of [new FakeCaches(), undefined]) {
  test(`notes are kept ${caches ? "in the Cache API" : "in memory where there is no Cache API"}`, async (context) => {
    withGlobals(context, { caches });
    const key = `fastest ${caches ? "kept" : "for this page"}`;
    const made = shim();
    assert.equal(JSON.parse((await made.recall(JSON.stringify({ key }))).json).text, null);
    await made.remember(JSON.stringify({ key, text: "wasm" }));
    assert.equal(JSON.parse((await made.recall(JSON.stringify({ key }))).json).text, "wasm");
  });
}
