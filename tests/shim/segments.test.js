import assert from "node:assert/strict";
import { test } from "node:test";
import { Files } from "../../js_shim/files.js";
import { SEGMENT_BYTES } from "../../js_shim/received.js";
import { FakeCaches, noSignal, withGlobals } from "./fakes.js";
import { fileServer, says, sha256, whole } from "./file_server.js";

const QUOTA = new DOMException("no room", "QuotaExceededError");
const atOnce = { pause: async () => {} };

/** @param {import("node:test").TestContext} context */
async function bigFile(context) {
  const caches = new FakeCaches();
  withGlobals(context, { caches });
  const server = await fileServer(context);
  server.data = Buffer.concat(Array(40).fill(server.data)); // 12 MB: two segments and some
  return { caches, server, file: server.file() };
}

test("a download that is cut for good goes on after a reload where it broke off", async (context) => {
  const { caches, server, file } = await bigFile(context);
  server.plays = [whole({ cut: 9_000_000 }), says(404)];
  await assert.rejects(new Files(atOnce).get(file, noSignal()));
  assert.deepEqual([caches.files.size, caches.segments.size], [0, 3]);
  server.plays = [whole()];
  const { blob } = await new Files().read(file, noSignal());
  assert.ok(server.data.equals(Buffer.from(await blob.arrayBuffer())));
  assert.equal(server.log.at(-1)?.range, "bytes=9000000-");
  assert.equal(server.log.at(-1)?.ifRange, server.etag);
  assert.equal(server.sent, server.data.length);
  assert.deepEqual([caches.files.size, caches.segments.size], [1, 0]);
});

test("a page that ends in the middle loses no more than a segment, and leaves nothing that is taken for the file", async (context) => {
  const { caches, server, file } = await bigFile(context);
  const store = caches.store("edgeinfer-downloads-v1");
  server.plays = [whole({ cut: 9_000_000 }), says(404)];
  await assert.rejects(new Files(atOnce).get(file, noSignal()));
  store.delete([...store.keys()].sort()[2]); // the tail: a page that ends has no time to keep it
  const keys = [...store.keys()].map((url) => Number(new URL(url).searchParams.get("from")));
  assert.equal(keys.length, 2);
  server.plays = [whole()];
  const { blob } = await new Files().read(file, noSignal());
  assert.equal(blob.size, file.bytes);
  assert.ok(server.sent - server.data.length <= SEGMENT_BYTES + 2 ** 16);
});

test("segments of another version of the file are not used", async (context) => {
  const { server, file } = await bigFile(context);
  server.plays = [whole({ cut: 9_000_000 }), says(404)];
  await assert.rejects(new Files(atOnce).get(file, noSignal()));
  server.data = Buffer.from(server.data).reverse();
  server.plays = [whole()];
  const now = { ...server.file(), sha256: sha256(server.data) };
  const { blob } = await new Files().read(now, noSignal());
  assert.ok(server.data.equals(Buffer.from(await blob.arrayBuffer())));
  assert.equal(server.log.at(-1)?.sent, server.data.length);
});

test("damaged segments cost one more download and harm nothing", async (context) => {
  const { caches, server, file } = await bigFile(context);
  server.plays = [whole({ cut: 9_000_000 }), says(404)];
  await assert.rejects(new Files(atOnce).get(file, noSignal()));
  for (const kept of caches.segments.values()) kept.blob = new Blob([Buffer.alloc(kept.blob.size)]);
  server.plays = [whole()];
  const { blob } = await new Files().read(file, noSignal());
  assert.ok(server.data.equals(Buffer.from(await blob.arrayBuffer())));
  assert.deepEqual([server.log.at(-2)?.range, server.log.at(-1)?.range], ["bytes=9000000-", ""]);
});

test("no room for segments costs only the resuming; no room beside them is made by them", async (context) => {
  const { caches, server, file } = await bigFile(context);
  caches.full = QUOTA;
  caches.room = 2; // two segments go well, the first commit does not, then there is room
  const put = caches.open.bind(caches);
  withGlobals(context, {
    caches: {
      open: async (/** @type {string} */ name) => {
        const cache = await put(name);
        return { ...cache, put: freeing(cache.put) };
      },
    },
  });
  const freeing =
    (/** @type {any} */ write) =>
    (/** @type {any[]} */ ...each) => {
      if (!caches.segments.size && each[0].includes("onnx") && !each[0].includes("from=")) caches.full = null;
      return write(...each);
    };
  const { notices } = await new Files().get(file, noSignal());
  assert.deepEqual(notices, []);
  assert.deepEqual([caches.files.size, caches.segments.size], [1, 0]);
  assert.equal(server.log.length, 1);
});

test("a cancelled download ends as a FetchError, leaves no file, and can be taken up", async (context) => {
  const { caches, server, file } = await bigFile(context);
  const controller = new AbortController();
  server.plays = [whole({ cut: 6_000_000 }), () => controller.abort()];
  const files = new Files();
  await assert.rejects(files.get(file, controller.signal), {
    name: "FetchError",
    message: /was cancelled/,
  });
  assert.equal(caches.files.size, 0);
  server.plays = [whole()];
  await files.get(file, noSignal());
  assert.equal(server.log.at(-1)?.range, "bytes=6000000-");
  assert.deepEqual([caches.files.size, caches.segments.size], [1, 0]);
});
