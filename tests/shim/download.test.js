import assert from "node:assert/strict";
import { test } from "node:test";
import { Files } from "../../js_shim/files.js";
import { noSignal, withGlobals } from "./fakes.js";
import { fileServer, says, sha256, whole } from "./file_server.js";

/** Waits that were asked for and cost no time. */
function patient() {
  /** @type {number[]} */
  const waits = [];
  const pause = async (/** @type {number} */ seconds) => void waits.push(seconds);
  return { files: new Files({ pause }), waits };
}

const bytes = async (/** @type {{blob: Blob}} */ { blob }) => Buffer.from(await blob.arrayBuffer());

test("a cut connection is taken up where it broke off: no byte comes twice", async (context) => {
  const server = await fileServer(context, whole({ cut: 100_000 }), whole({ cut: 50_000 }), whole());
  const { files, waits } = patient();
  assert.deepEqual(await bytes(await files.read(server.file(), noSignal())), server.data);
  assert.deepEqual(
    server.log.map(({ range, ifRange, sent }) => [range, ifRange, sent]),
    [
      ["", "", 100_000],
      ["bytes=100000-", server.etag, 50_000],
      ["bytes=150000-", server.etag, 150_000],
    ],
  );
  assert.deepEqual(waits, [0.5, 1]);
});

test("a file of unknown hash is taken up only when the server names its version", async (context) => {
  const server = await fileServer(context, whole({ cut: 1000 }), whole());
  const unknown = { ...server.file(), sha256: "", bytes: 0 };
  assert.deepEqual(await bytes(await patient().files.read(unknown, noSignal())), server.data);
  assert.equal(server.log[1].range, "bytes=1000-");
  server.plays = [whole({ cut: 1000, etag: false }), whole({ etag: false })];
  assert.deepEqual(await bytes(await patient().files.read(unknown, noSignal())), server.data);
  assert.equal(server.log[3].range, "");
});

for (const [why, second] of /** @type {[string, any][]} */ ([
  ["does not know ranges", whole({ ranges: false })],
  ["says that there is no such range", says(416)],
  ["sends another range", whole({ contentRange: "bytes 5-299999/300000" })],
  ["sends a range of a file of another size", whole({ contentRange: "bytes 1000-299999/300001" })],
  ["sends no Content-Range", whole({ contentRange: "" })],
])) {
  test(`a server that ${why} begins anew`, async (context) => {
    const server = await fileServer(context, whole({ cut: 1000 }), second, whole());
    assert.deepEqual(await bytes(await patient().files.read(server.file(), noSignal())), server.data);
    assert.equal(server.log[1].range, "bytes=1000-");
    if (server.log[2]) assert.equal(server.log[2].range, "");
  });
}

test("a file that changed in between begins anew", async (context) => {
  const server = await fileServer(context, whole({ cut: 1000 }), whole());
  const old = server.data;
  server.plays.splice(1, 0, (request, answer) => {
    server.data = Buffer.from(old).reverse();
    whole()(request, answer, server);
  });
  const now = { ...server.file(), sha256: sha256(Buffer.from(old).reverse()) };
  assert.deepEqual(await bytes(await patient().files.read(now, noSignal())), server.data);
  assert.equal(server.log[1].sent, 300_000);
});

test("a part that was never asked for is refused by name", async (context) => {
  const part = says(206, "part", { "Content-Range": "bytes 4-7/8" });
  const server = await fileServer(context, part);
  const { files, waits } = patient();
  await assert.rejects(files.read(server.file(), noSignal()), {
    name: "FetchError",
    message: /206 \(a part\)/,
  });
  assert.equal(waits.length, 3);
});

test("a connection that is cut again and again is a FetchError in the end", async (context) => {
  const server = await fileServer(context, whole({ cut: 1000 }));
  const { files, waits } = patient();
  await assert.rejects(files.read(server.file(), noSignal()), {
    name: "FetchError",
    message: /broke off after 4000 bytes/,
  });
  assert.deepEqual(waits, [0.5, 1, 2]);
});

test("a link that breaks every two megabytes still gets there", async (context) => {
  const server = await fileServer(context, whole({ cut: 2 ** 21 }));
  server.data = Buffer.alloc(2 ** 21 * 8, "model");
  server.plays.push(...Array(6).fill(server.plays[0]), whole());
  assert.deepEqual(await bytes(await patient().files.read(server.file(), noSignal())), server.data);
  assert.equal(server.sent, server.data.length);
});

test("a host that is not there is told at once", async (context) => {
  const server = await fileServer(context);
  const file = server.file();
  server.http.close();
  const { files, waits } = patient();
  await assert.rejects(files.read(file, noSignal()), { name: "FetchError", message: /could not be fetched/ });
  assert.deepEqual(waits, []);
});

for (const [status, name, word] of /** @type {[number, string, RegExp][]} */ ([
  [401, "AccessDeniedError", /needs a sign-in/],
  [403, "AccessDeniedError", /is forbidden/],
  [404, "NotFoundError", /was not found/],
  [410, "NotFoundError", /was not found/],
  [418, "FetchError", /answered 418/],
])) {
  test(`${status} is a ${name} at once`, async (context) => {
    const server = await fileServer(context, says(status, "no"));
    const file = server.file();
    await assert.rejects(patient().files.read(file, noSignal()), (/** @type {any} */ error) => {
      assert.match(error.message, word);
      assert.deepEqual([error.name, error.details], [name, { url: file.url, status }]);
      return true;
    });
    assert.equal(server.log.length, 1);
  });
}

for (const status of [500, 502, 503, 504]) {
  test(`${status} is asked again a few times, then a ServerError`, async (context) => {
    const server = await fileServer(context, says(status));
    const { files, waits } = patient();
    await assert.rejects(files.read(server.file(), noSignal()), {
      name: "ServerError",
      message: new RegExp(String(status)),
    });
    assert.deepEqual([server.log.length, waits], [4, [0.5, 1, 2]]);
  });
}

test("a server that is back in time gives the file", async (context) => {
  const server = await fileServer(context, says(503), says(500), whole());
  assert.deepEqual(await bytes(await patient().files.read(server.file(), noSignal())), server.data);
});

test("Retry-After is honoured once", async (context) => {
  const server = await fileServer(context, says(429, "", { "Retry-After": "7" }), whole());
  const { files, waits } = patient();
  assert.deepEqual(await bytes(await files.read(server.file(), noSignal())), server.data);
  assert.deepEqual(waits, [7]);
});

test("Retry-After may be a date", async (context) => {
  const date = new Date(Date.now() + 20_000).toUTCString();
  const server = await fileServer(context, says(429, "", { "Retry-After": date }), whole());
  const { files, waits } = patient();
  await files.read(server.file(), noSignal());
  assert.ok(waits.length === 1 && waits[0] > 10 && waits[0] <= 20);
});

for (const [why, after, expected, waited] of /** @type {[string, string, number | null, number[]][]} */ ([
  ["that comes again after its wait", "7", 7, [7]],
  ["whose wait is too long", "3600", 3600, []],
  ["that does not say how long", "", null, [0.5, 1, 2]],
])) {
  test(`a 429 ${why} is a TooManyRequestsError that says how long`, async (context) => {
    const headers = /** @type {Record<string, string>} */ (after ? { "Retry-After": after } : {});
    const server = await fileServer(context, says(429, "", headers));
    const { files, waits } = patient();
    await assert.rejects(files.read(server.file(), noSignal()), (/** @type {any} */ error) => {
      assert.deepEqual([error.name, error.details.retry_after], ["TooManyRequestsError", expected]);
      return true;
    });
    assert.deepEqual(waits, waited);
  });
}

const JSON_BODY = '{"error": "Repository not found"}';
for (const [
  why,
  path,
  body,
  type,
  word,
] of /** @type {[string, string, string, string, RegExp | null][]} */ ([
  [
    "JSON for a model",
    "model.onnx",
    JSON_BODY,
    "text/plain",
    /JSON instead of the file: .*Repository not found/,
  ],
  ["JSON for weights", "model.onnx_data", JSON_BODY, "application/json", /JSON instead/],
  ["weights that look like JSON", "model.onnx_data", "{{{{", "application/octet-stream", null],
  ["JSON for JSON", "config.json", JSON_BODY, "application/json", null],
  ["a page", "config.json", " <!DOCTYPE html><title>App</title>", "text/html", /HTML page/],
  ["a page without a doctype", "config.json", "<HTML><head>", "text/html", /HTML page/],
  [
    "a Git-LFS pointer",
    "model.onnx",
    "version https://git-lfs.github.com/spec/v1\noid",
    "text/plain",
    /git lfs pull/,
  ],
  ["nothing", "config.json", "", "text/plain", /is empty/],
  ["blanks", "config.json", " \n", "text/plain", /is empty/],
])) {
  test(`${why} at 200 ${word ? "is a ContentError" : "is taken"}`, async (context) => {
    const server = await fileServer(context, says(200, body, { "Content-Type": type }));
    const unknown = { ...server.file(path), sha256: "", bytes: 0 };
    const reading = patient().files.read(unknown, noSignal());
    if (word)
      await assert.rejects(reading, { name: "ContentError", message: word, details: { url: unknown.url } });
    else assert.equal(await (await reading).blob.text(), body);
  });
}

test("a body that ends too early without a word is an IntegrityError with both sizes", async (context) => {
  const server = await fileServer(context, (_, answer) => answer.writeHead(200).end(Buffer.alloc(1000, "m")));
  await assert.rejects(patient().files.read(server.file(), noSignal()), {
    name: "IntegrityError",
    message: /has 1000 bytes, but .* says 300000 bytes/,
  });
  assert.equal(server.log.length, 2);
});

test("a body that does not end is stopped at the first byte too many", async (context) => {
  const server = await fileServer(context, (_, answer) => {
    const more = (/** @type {unknown} */ error = null) =>
      error || answer.destroyed || answer.write(Buffer.alloc(2 ** 18, "m"), more);
    more();
  });
  await assert.rejects(patient().files.read(server.file(), noSignal()), {
    name: "IntegrityError",
    message: /more than 300000 bytes/,
  });
});

test("from another origin only Range is sent, and the last try goes without", async (context) => {
  withGlobals(context, { location: new URL("https://page.test/") });
  const server = await fileServer(context, whole({ cut: 1000 }), whole({ cut: 0 }), says(503), whole());
  const { files } = patient();
  assert.deepEqual(await bytes(await files.read(server.file(), noSignal())), server.data);
  assert.deepEqual(
    server.log.map(({ range, ifRange }) => [range, ifRange]),
    [
      ["", ""],
      ["bytes=1000-", ""],
      ["bytes=1000-", ""],
      ["", ""],
    ],
  );
});

test("a caller that leaves while it waits for the next try is told so", async (context) => {
  const server = await fileServer(context, says(503, "", { "Retry-After": "20" }));
  const controller = new AbortController();
  const reading = new Files().read(server.file(), controller.signal);
  while (!server.log.length) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  await assert.rejects(reading, { name: "FetchError", message: /was cancelled/ });
});
