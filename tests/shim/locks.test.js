import assert from "node:assert/strict";
import { test } from "node:test";
import { Files } from "../../js_shim/files.js";
import { alone } from "../../js_shim/locks.js";
import { FakeCaches, FakeLocks, noSignal, withGlobals } from "./fakes.js";
import { fileServer, whole } from "./file_server.js";

/** @param {import("node:test").TestContext} context */
const fakeLocks = (context) => withGlobals(context, { navigator: { locks: new FakeLocks() } });
const silent = () => {};

test("two tabs download once: the one that waited has it from the cache", async (context) => {
  fakeLocks(context);
  const caches = new FakeCaches();
  withGlobals(context, { caches });
  const server = await fileServer(context);
  const tabs = [new Files(), new Files()];
  const found = await Promise.all(tabs.map((files) => files.read(server.file(), noSignal())));
  for (const { blob } of found) assert.ok(server.data.equals(Buffer.from(await blob.arrayBuffer())));
  assert.equal(server.log.length, 1);
});

test("without locks two tabs both get it, and the cache is right", async (context) => {
  withGlobals(context, { navigator: {} });
  const caches = new FakeCaches();
  withGlobals(context, { caches });
  const server = await fileServer(context);
  const found = await Promise.all(
    [new Files(), new Files()].map((files) => files.read(server.file(), noSignal())),
  );
  for (const { blob } of found) assert.ok(server.data.equals(Buffer.from(await blob.arrayBuffer())));
  assert.deepEqual([caches.files.size, caches.segments.size], [1, 0]);
});

test("a tab that is closed in the middle passes the download on", async (context) => {
  fakeLocks(context);
  withGlobals(context, { caches: new FakeCaches() });
  const server = await fileServer(context, whole({ cut: 100_000 }), () => {}, whole());
  const controller = new AbortController();
  const pause = async () => controller.abort(); // the tab goes when its connection broke
  const first = new Files({ pause }).read(server.file(), controller.signal);
  while (!server.log.length) await new Promise((resolve) => setTimeout(resolve, 5));
  const second = new Files().read(server.file(), noSignal());
  await assert.rejects(first, { name: "FetchError" });
  server.plays = [whole()];
  assert.equal((await second).blob.size, server.data.length);
  assert.equal(server.sent, server.data.length);
});

test("who waits sees the progress of the one that works", async (context) => {
  fakeLocks(context);
  /** @type {number[][]} */
  const heard = [];
  let seen = silent;
  const saw = new Promise((resolve) => (seen = () => resolve(null)));
  const work = async (/** @type {(loaded: number, total: number) => void} */ tell) => {
    tell(1, 2);
    await saw;
  };
  const first = alone("k", { signal: noSignal(), onProgress: silent, timeout: 5 }, async (tell) => {
    await new Promise((resolve) => setTimeout(resolve, 5)); // until the other waits
    await work(tell);
  });
  const onProgress = (/** @type {number[]} */ ...told) => {
    heard.push(told);
    seen();
  };
  const second = alone("k", { signal: noSignal(), onProgress, timeout: 5 }, async () => "done");
  await first;
  assert.equal(await second, "done");
  assert.deepEqual(heard, [[1, 2]]);
});

test("a tab that holds the lock and is silent is not waited for for ever", async (context) => {
  fakeLocks(context);
  let end = silent;
  const dead = alone("k", { signal: noSignal(), onProgress: silent, timeout: 5 }, () => {
    return new Promise((resolve) => (end = () => resolve("late")));
  });
  const options = { signal: noSignal(), onProgress: silent, timeout: 0.01 };
  assert.equal(await alone("k", options, async () => "done"), "done");
  end();
  assert.equal(await dead, "late");
});

test("a lock that is refused (opaque origins) is done without", async (context) => {
  const refuse = () => Promise.reject(new DOMException("no", "SecurityError"));
  withGlobals(context, { navigator: { locks: { request: refuse } } });
  const options = { signal: noSignal(), onProgress: silent, timeout: 5 };
  assert.equal(await alone("k", options, async () => "done"), "done");
});

test("what the work throws is thrown, and it is not done twice", async (context) => {
  fakeLocks(context);
  let times = 0;
  const fail = async () => {
    times++;
    throw new Error("it failed");
  };
  const options = { signal: noSignal(), onProgress: silent, timeout: 5 };
  await assert.rejects(alone("k", options, fail), /it failed/);
  assert.equal(times, 1);
});
