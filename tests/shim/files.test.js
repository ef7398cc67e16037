import assert from "node:assert/strict";
import { test } from "node:test";
import { Files } from "../../js_shim/files.js";
import { forgetOldRevisions } from "../../js_shim/model_cache.js";
import { FakeCaches, answer, fakeFetch, noSignal, withGlobals } from "./fakes.js";
import { fileServer, says, sha256, whole } from "./file_server.js";

const URL_ = "https://host.test/models/tiny/onnx/model.onnx";
const DATA = "a model ".repeat(100);
const FILE = { url: URL_, sha256: sha256(DATA), bytes: DATA.length, timeout: 5 };
const UNKNOWN = { url: URL_, sha256: "", bytes: 0, timeout: 5 };
const KEY = `${URL_}?sha256=${FILE.sha256}`;
const ok = (/** @type {BodyInit | null} */ body) => () => answer(URL_, body);
const atOnce = { pause: async () => {} };
const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

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
  const { key } = await files.get(file, noSignal());
  return files.kept.get(key)?.blob.text();
}

/**
 * What is told to the user about one read.
 * @param {Files} files
 */
async function kinds(files) {
  const { notices } = await files.get(FILE, noSignal());
  return notices.map(({ kind }) => kind);
}

test("a file is fetched, verified, kept in the cache and had from there the next time", async (context) => {
  const caches = fakeCaches(context);
  const calls = fakeFetch(context, ok(DATA));
  assert.equal(await text(new Files()), DATA);
  assert.deepEqual([...caches.files.keys()], [KEY]);
  assert.equal(caches.segments.size, 0);
  assert.equal(await text(new Files()), DATA);
  assert.deepEqual(await kinds(new Files()), []);
  assert.equal(calls.length, 1);
});

test("a file without a hash is never cached, as nobody could verify it", async (context) => {
  const caches = fakeCaches(context);
  const calls = fakeFetch(context, ok("one"), ok("two"));
  const files = new Files();
  assert.equal(await text(files, UNKNOWN), "one");
  assert.equal(await text(files, UNKNOWN), "two");
  assert.deepEqual([calls.length, caches.files.size, caches.segments.size], [2, 0, 0]);
});

for (const [why, play] of /** @type {[string, any][]} */ ([
  ["a missing file", says(404)],
  ["a page", says(200, "<!doctype html>".padEnd(600))],
  ["a Git-LFS pointer", says(200, "version https://git-lfs.github.com/spec/v1\noid sha256:0")],
  ["an error in JSON", says(200, '{"error": 1}')],
  ["an empty body", says(200)],
  ["another file", says(200, "m".repeat(300_000))],
])) {
  test(`${why} is never cached, and the next load is none the worse`, async (context) => {
    const caches = fakeCaches(context);
    const server = await fileServer(context, play);
    const files = new Files(atOnce);
    await assert.rejects(files.get(server.file(), noSignal()));
    assert.deepEqual([caches.files.size, caches.segments.size], [0, 0]);
    server.plays = [whole()];
    await files.get(server.file(), noSignal());
    assert.equal(caches.files.size, 1);
  });
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
    assert.deepEqual([caches.files.size, caches.segments.size], [0, 0]);
  });
}

test("an earlier revision in the browser's HTTP cache is got past", async (context) => {
  fakeFetch(context, (_, { cache }) => answer(URL_, cache === "reload" ? DATA : "an earlier model"));
  assert.equal(await text(new Files()), DATA);
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
    await new Promise((resolve) => setTimeout(resolve, 30));
    const piece = pieces.shift();
    if (piece) stream.enqueue(new TextEncoder().encode(piece));
    else stream.close();
  };
  fakeFetch(context, () => answer(URL_, new ReadableStream({ pull })));
  assert.equal(await text(new Files(), { ...FILE, timeout: 0.11 }), DATA);
});

for (const [why, kept] of [
  ["damaged", DATA.replace("a", "b")],
  ["cut", DATA.slice(5)],
  ["empty", ""],
]) {
  test(`a ${why} cache entry is evicted, fetched once more, replaced and told`, async (context) => {
    const caches = fakeCaches(context);
    caches.putFile(KEY, kept);
    const calls = fakeFetch(context, ok(DATA));
    const { notices } = await new Files().get(FILE, noSignal());
    assert.deepEqual([notices.length, notices[0].kind], [1, "cache_entry_damaged"]);
    assert.match(notices[0].message, /model\.onnx on this device was damaged and is fetched anew/);
    assert.equal(calls.length, 1);
    assert.equal(await caches.files.get(KEY)?.blob.text(), DATA);
  });
}

test("a cache entry that cannot be read is as good as a damaged one", async (context) => {
  const caches = fakeCaches(context);
  const open = caches.open.bind(caches);
  let broken = true;
  const match = async (/** @type {any} */ cache, /** @type {any} */ at) => {
    if (broken && at === KEY) throw new Error("cannot be read");
    return cache.match(at);
  };
  caches.open = async (name) => {
    const cache = await open(name);
    const put = (/** @type {[any, any]} */ ...each) => cache.put(...each).then(() => void (broken = false));
    return { ...cache, put, match: (/** @type {any} */ at) => match(cache, at) };
  };
  fakeFetch(context, ok(DATA));
  assert.deepEqual(await kinds(new Files()), ["cache_entry_damaged"]);
  assert.deepEqual(await kinds(new Files()), []);
});

test("a damaged cache entry whose file cannot be had again does not come back", async (context) => {
  const caches = fakeCaches(context);
  caches.putFile(KEY, "damaged");
  fakeFetch(context, () => answer(URL_, "", { status: 404 }));
  await assert.rejects(new Files().get(FILE, noSignal()), { name: "NotFoundError" });
  assert.equal(caches.files.size, 0);
});

const QUOTA = new DOMException("no room", "QuotaExceededError");
const FIREFOX_QUOTA = Object.assign(new Error("No space"), { name: "NS_ERROR_FILE_NO_DEVICE_SPACE" });

for (const [full, kind] of /** @type {[Error, string][]} */ ([
  [QUOTA, "quota_exceeded"],
  [FIREFOX_QUOTA, "quota_exceeded"],
  [new Error("disk on fire"), "cache_write_failed"],
])) {
  test(`a cache that refuses with ${full.name} leaves the file in memory, in use, with one notice`, async (context) => {
    const caches = fakeCaches(context);
    caches.full = full;
    const calls = fakeFetch(context, ok(DATA));
    let commits = 0;
    const files = new Files({ onCommit: () => commits++ });
    const { notices } = await files.get(FILE, noSignal());
    assert.deepEqual([notices.length, notices[0].kind], [1, kind]);
    assert.match(notices[0].message, /from memory and fetched again on the next visit/);
    assert.ok(notices[0].message.includes(full.name));
    assert.equal(await text(files), DATA);
    assert.deepEqual(await kinds(files), [kind]); // whoever asks later is told, too
    assert.deepEqual([calls.length, commits, caches.files.size], [1, 0, 0]);
  });
}

for (const [why, caches, word] of /** @type {[string, unknown, RegExp][]} */ ([
  ["no Cache API at all", undefined, /no Cache API here/],
  [
    "a Cache API that throws",
    { open: () => Promise.reject(new DOMException("private", "SecurityError")) },
    /SecurityError/,
  ],
  [
    "a cache that cannot be read",
    { open: async () => ({ match: () => Promise.reject(new Error("corrupt")) }) },
    /corrupt/,
  ],
])) {
  test(`${why} leaves the file in memory, in use, with one notice`, async (context) => {
    withGlobals(context, { caches });
    const calls = fakeFetch(context, ok(DATA));
    const files = new Files();
    const { notices } = await files.get(FILE, noSignal());
    assert.deepEqual([notices.length, notices[0].kind], [1, "cache_unavailable"]);
    assert.match(notices[0].message, word);
    assert.equal(await text(files), DATA);
    assert.equal(calls.length, 1);
  });
}

test("a commit calls onCommit, a read from the cache does not", async (context) => {
  fakeCaches(context);
  fakeFetch(context, ok(DATA));
  let commits = 0;
  const options = { onCommit: () => commits++ };
  await new Files(options).get(FILE, noSignal());
  await new Files(options).get(FILE, noSignal());
  assert.equal(commits, 1);
});

test("segments that nobody went on with for a day are given up at the next commit", async (context) => {
  const caches = fakeCaches(context);
  fakeFetch(context, ok(DATA));
  const at = (/** @type {number} */ hours) =>
    `https://host.test/x?sha256=0&from=0&at=${Date.now() - hours * 3600_000}`;
  const [old, young] = [at(25), at(1)];
  for (const url of [old, young]) caches.segments.set(url, { blob: new Blob(["x"]), headers: [] });
  await new Files().get(FILE, noSignal());
  await soon();
  assert.deepEqual([...caches.segments.keys()], [young]);
});

test("callers at once share one download, and each has its progress", async (context) => {
  fakeCaches(context);
  const calls = fakeFetch(context, ok(DATA));
  const files = new Files();
  let told = 0;
  const all = [FILE, FILE, FILE].map((file) => files.get(file, noSignal(), () => told++));
  const keys = (await Promise.all(all)).map(({ key }) => key);
  assert.deepEqual(keys, [KEY, KEY, KEY]);
  assert.equal(calls.length, 1);
  assert.ok(told >= 3);
});

for (const file of [FILE, UNKNOWN]) {
  test(`a caller that leaves does not end the other's download (hash ${file.sha256 ? "known" : "unknown"})`, async (context) => {
    fakeCaches(context);
    /** @type {ReadableStreamDefaultController[]} */
    const streams = [];
    const start = (/** @type {ReadableStreamDefaultController} */ stream) => void streams.push(stream);
    const calls = fakeFetch(context, () => answer(URL_, new ReadableStream({ start })));
    const files = new Files();
    const controller = new AbortController();
    const [first, second] = [files.read(file, controller.signal), files.read(file, noSignal())];
    while (!streams.length) await soon();
    controller.abort();
    await assert.rejects(first, { name: "FetchError", message: /was cancelled/ });
    streams[0].enqueue(new TextEncoder().encode(DATA));
    streams[0].close();
    assert.equal(await (await second).blob.text(), DATA);
    assert.equal(calls.length, 1);
  });
}

test("when the last caller left, the next begins anew", async (context) => {
  fakeFetch(context, stalling, ok(DATA));
  const files = new Files();
  const controller = new AbortController();
  const first = files.read(FILE, controller.signal);
  await soon();
  controller.abort();
  const second = files.read(FILE, noSignal());
  await assert.rejects(first, { message: /was cancelled/ });
  assert.equal(await (await second).blob.text(), DATA);
});

test("a caller that has left before it came fetches nothing", async (context) => {
  const calls = fakeFetch(context, stalling);
  await assert.rejects(new Files().read(FILE, AbortSignal.abort()), { message: /was cancelled/ });
  await soon();
  assert.equal(calls.length, 0);
});

test("old revisions go when they are told to, and nothing else does", async (context) => {
  const caches = fakeCaches(context);
  const base = "https://host.test/models/tiny/";
  const mine = ["onnx/model.onnx?sha256=new", "tokenizer.json?sha256=same"];
  const graphs = ["onnx/model.onnx?sha256=old", "onnx/model_fp16.onnx?sha256=old"];
  const old = [...graphs, "1_Pooling/config.json?sha256=old", "tokenizer.json?sha256=old"];
  const others = [
    `${base}nested/onnx/model.onnx?sha256=0`,
    "https://host.test/models/tiny2/config.json?sha256=0",
  ];
  for (const path of [...mine, ...old]) caches.putFile(`${base}${path}`, path);
  for (const url of others) caches.putFile(url, "other");
  const current = [
    { url: `${base}onnx/model.onnx`, sha256: "new" },
    { url: `${base}tokenizer.json`, sha256: "same" },
    { url: `${base}onnx/model_q4.onnx`, sha256: "not fetched" },
  ];
  assert.equal(await forgetOldRevisions(base, current), 4);
  assert.deepEqual([...caches.files.keys()], [...mine.map((path) => `${base}${path}`), ...others]);
  withGlobals(context, { caches: undefined });
  assert.equal(await forgetOldRevisions(base, current), 0);
});

test("a new revision of a file does not remove the old one by itself: its folder may not be whole", async (context) => {
  const caches = fakeCaches(context);
  caches.putFile(`${URL_}?sha256=old`, "old");
  fakeFetch(context, ok(DATA));
  await new Files().get(FILE, noSignal());
  assert.deepEqual([...caches.files.keys()], [`${URL_}?sha256=old`, KEY]);
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

test("the length of an encoded body says nothing about the file's", async (context) => {
  const headers = { "content-length": "10", "content-encoding": "gzip" };
  fakeFetch(context, () => answer(URL_, DATA, { headers }));
  /** @type {number[][]} */
  const told = [];
  await new Files().get(UNKNOWN, noSignal(), (...each) => told.push(each));
  assert.ok(
    told.every(
      ([loaded, total]) => total === DATA.length || total === loaded || total === 0 || total >= loaded,
    ),
  );
});
