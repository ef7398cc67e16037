import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Files } from "../../js_shim/files.js";
import { FakeCaches, answer, fakeFetch, noSignal, withGlobals } from "./fakes.js";

const URL_ = "https://host.test/models/tiny/onnx/model.onnx";
const DATA = "a model ".repeat(100);
const sha256 = (/** @type {string} */ text) => createHash("sha256").update(text).digest("hex");
const FILE = { url: URL_, sha256: sha256(DATA), bytes: DATA.length, timeout: 5 };
const UNKNOWN = { url: URL_, sha256: "", bytes: 0, timeout: 5 };
const KEY = `${URL_}?sha256=${FILE.sha256}`;
const ok = (/** @type {BodyInit | null} */ body) => () => answer(URL_, body);

/** @param {import("node:test").TestContext} context */
function fakeCaches(context) {
  const caches = new FakeCaches();
  withGlobals(context, { caches });
  return caches;
}

/**
 * @param {Files} files
 * @param {typeof FILE} [file]
 */
async function text(files, file = FILE) {
  return files.blobs.get(await files.get(file, noSignal()))?.text();
}

test("a file is fetched, verified, kept in the cache and had from there the next time", async (context) => {
  const caches = fakeCaches(context);
  const calls = fakeFetch(context, ok(DATA));
  assert.equal(await text(new Files()), DATA);
  assert.deepEqual([...caches.entries.keys()], [KEY]);
  assert.equal(await text(new Files()), DATA);
  assert.equal(calls.length, 1);
});

test("a file without a hash is never cached, as nobody could verify it", async (context) => {
  const caches = fakeCaches(context);
  const calls = fakeFetch(context, ok("one"), ok("two"));
  const files = new Files();
  assert.equal(await text(files, UNKNOWN), "one");
  assert.equal(await text(files, UNKNOWN), "two");
  assert.deepEqual([calls.length, caches.entries.size], [2, 0]);
});

for (const [why, status, name] of /** @type {[string, number, string][]} */ ([
  ["a missing file", 404, "NotFoundError"],
  ["a file that is gone", 410, "NotFoundError"],
  ["a forbidden file", 403, "FetchError"],
  ["a broken server", 500, "FetchError"],
])) {
  test(`${why} is a ${name} with URL and status, and is not cached`, async (context) => {
    const caches = fakeCaches(context);
    fakeFetch(context, () => answer(URL_, "no", { status }));
    await assert.rejects(new Files().get(FILE, noSignal()), { name, details: { url: URL_, status } });
    assert.equal(caches.entries.size, 0);
  });
}

for (const [why, body, word] of /** @type {[string, string, RegExp][]} */ ([
  ["a page at 200", "\n <!DOCTYPE html><title>App</title>", /HTML page/],
  ["a page without a doctype", "<HTML><head>", /HTML page/],
  ["an empty body", "", /is empty/],
  ["a Git-LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0", /git lfs pull/],
])) {
  for (const file of [FILE, UNKNOWN]) {
    test(`${why} is a ContentError (${file.sha256 ? "hash known" : "hash unknown"}), and is not cached`, async (context) => {
      const caches = fakeCaches(context);
      fakeFetch(context, ok(body));
      await assert.rejects(new Files().get(file, noSignal()), { name: "ContentError", message: word });
      assert.equal(caches.entries.size, 0);
    });
  }
}

for (const [why, body] of [
  ["a truncated file", DATA.slice(1)],
  ["a file of the right size with another hash", DATA.replace("a", "b")],
]) {
  test(`${why} is an IntegrityError that says both, after one more try past the HTTP cache`, async (context) => {
    const caches = fakeCaches(context);
    const calls = fakeFetch(context, ok(body));
    await assert.rejects(new Files().get(FILE, noSignal()), (/** @type {any} */ error) => {
      assert.equal(error.name, "IntegrityError");
      assert.notEqual(error.details.expected, error.details.actual);
      return error.message.includes(URL_);
    });
    assert.deepEqual(
      calls.map(({ init }) => init.cache),
      ["default", "reload"],
    );
    assert.equal(caches.entries.size, 0);
  });
}

test("an earlier revision in the browser's HTTP cache is got past", async (context) => {
  fakeFetch(context, (_, { cache }) => answer(URL_, cache === "reload" ? DATA : "an earlier model"));
  assert.equal(await text(new Files()), DATA);
});

test("a network that is down is a FetchError that names the URL", async (context) => {
  fakeFetch(context, () => new TypeError("Failed to fetch"));
  await assert.rejects(new Files().get(FILE, noSignal()), {
    name: "FetchError",
    message: /model\.onnx could not be fetched \(TypeError: Failed to fetch\)/,
  });
});

test("a connection that breaks in the middle is a FetchError", async (context) => {
  const pull = (/** @type {ReadableStreamDefaultController} */ stream) => {
    stream.enqueue(new TextEncoder().encode("a mod"));
    stream.error(new TypeError("network error"));
  };
  fakeFetch(context, () => answer(URL_, new ReadableStream({ pull })));
  await assert.rejects(new Files().get(FILE, noSignal()), { name: "FetchError" });
});

/**
 * A body that gives one piece and then no more, until it is aborted.
 * @param {string} _
 * @param {RequestInit} init
 */
function stalling(_, { signal }) {
  const start = (/** @type {ReadableStreamDefaultController} */ stream) => {
    stream.enqueue(new TextEncoder().encode("a mod"));
    signal?.addEventListener("abort", () => stream.error(signal.reason));
  };
  return answer(URL_, new ReadableStream({ start }));
}

test("a download that stalls is a DeadlineError", async (context) => {
  fakeFetch(context, stalling);
  await assert.rejects(new Files().get({ ...FILE, timeout: 0.02 }, noSignal()), {
    name: "DeadlineError",
    message: /waiting for more bytes/,
  });
});

test("a server that never answers is a DeadlineError", async (context) => {
  const hang = (/** @type {string} */ _, /** @type {RequestInit} */ { signal }) =>
    new Promise((__, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  fakeFetch(context, /** @type {any} */ (hang));
  await assert.rejects(new Files().get({ ...FILE, timeout: 0.02 }, noSignal()), { name: "DeadlineError" });
});

test("a slow download that goes on is left alone", async (context) => {
  const pieces = DATA.match(/.{1,200}/gs) ?? [];
  const pull = async (/** @type {ReadableStreamDefaultController} */ stream) => {
    await new Promise((resolve) => setTimeout(resolve, 8));
    const piece = pieces.shift();
    if (piece) stream.enqueue(new TextEncoder().encode(piece));
    else stream.close();
  };
  fakeFetch(context, () => answer(URL_, new ReadableStream({ pull })));
  assert.equal(await text(new Files(), { ...FILE, timeout: 0.025 }), DATA);
});

test("an aborted download ends as a FetchError and leaves the cache clean", async (context) => {
  const caches = fakeCaches(context);
  fakeFetch(context, stalling);
  const controller = new AbortController();
  const fetching = new Files().get(FILE, controller.signal);
  setTimeout(() => controller.abort(), 5);
  await assert.rejects(fetching, { name: "FetchError", message: /was cancelled/ });
  assert.equal(caches.entries.size, 0);
});

for (const [why, kept] of [
  ["damaged", DATA.replace("a", "b")],
  ["cut", DATA.slice(5)],
  ["empty", ""],
]) {
  test(`a ${why} cache entry is fetched anew and replaced`, async (context) => {
    const caches = fakeCaches(context);
    caches.entries.set(KEY, new Blob([kept]));
    const calls = fakeFetch(context, ok(DATA));
    assert.equal(await text(new Files()), DATA);
    assert.equal(calls.length, 1);
    assert.equal(await caches.entries.get(KEY)?.text(), DATA);
  });
}

test("a cache that is full leaves the file in memory, in use", async (context) => {
  class Full extends FakeCaches {
    async open() {
      const refuse = () => Promise.reject(new DOMException("no room", "QuotaExceededError"));
      return { ...(await super.open()), put: refuse };
    }
  }
  withGlobals(context, { caches: new Full() });
  const calls = fakeFetch(context, ok(DATA));
  const files = new Files();
  assert.equal(await text(files), DATA);
  assert.equal(await text(files), DATA);
  assert.equal(calls.length, 1);
});

for (const [why, caches] of /** @type {[string, unknown][]} */ ([
  ["no Cache API at all", undefined],
  ["a Cache API that throws", { open: () => Promise.reject(new DOMException("private", "SecurityError")) }],
  [
    "a cache that cannot be read",
    { open: async () => ({ match: () => Promise.reject(new Error("corrupt")) }) },
  ],
])) {
  test(`${why} leaves the file in memory, in use`, async (context) => {
    withGlobals(context, { caches });
    fakeFetch(context, ok(DATA));
    assert.equal(await text(new Files()), DATA);
  });
}

test("where there is no crypto.subtle the size is checked all the same", async (context) => {
  withGlobals(context, { crypto: {} });
  fakeFetch(context, ok(DATA.slice(1)));
  await assert.rejects(new Files().get(FILE, noSignal()), { name: "IntegrityError" });
});

test("a new revision of a file takes the place of the old one, and other files stay", async (context) => {
  const caches = fakeCaches(context);
  caches.entries.set(`${URL_}?sha256=old`, new Blob(["old"]));
  caches.entries.set(`${URL_}_data?sha256=other`, new Blob(["other"]));
  fakeFetch(context, ok(DATA));
  await new Files().get(FILE, noSignal());
  assert.deepEqual([...caches.entries.keys()].sort(), [KEY, `${URL_}_data?sha256=other`].sort());
});

for (const [why, file, init] of /** @type {[string, typeof FILE, ResponseInit][]} */ ([
  ["from the manifest", FILE, {}],
  ["from Content-Length", UNKNOWN, { headers: { "content-length": String(DATA.length) } }],
])) {
  test(`progress goes up to the total ${why}`, async (context) => {
    fakeFetch(context, () => answer(URL_, DATA, init));
    /** @type {number[][]} */
    const told = [];
    await new Files().get(file, noSignal(), (...each) => told.push(each));
    assert.ok(told.length >= 2);
    assert.ok(told.every(([loaded, total]) => total === DATA.length && loaded <= total));
    assert.deepEqual(told.at(-1), [DATA.length, DATA.length]);
  });
}

test("two reads of one file at once both get it", async (context) => {
  fakeFetch(context, ok(DATA));
  const files = new Files();
  const [one, two] = await Promise.all([files.read(UNKNOWN, noSignal()), files.read(UNKNOWN, noSignal())]);
  assert.deepEqual([await one.text(), await two.text()], [DATA, DATA]);
});
