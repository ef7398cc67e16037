import assert from "node:assert/strict";
import { test } from "node:test";
import { predict } from "../../js_shim/predict.js";
import { answer, fakeFetch, withGlobals } from "./fakes.js";

const URL_ = "https://host.test/api/predict";
const LABELS = [{ label: "positive", score: 0.9 }];
const labels = () => answer(URL_, JSON.stringify(LABELS));
const status = (
  /** @type {number} */ number,
  /** @type {Record<string, string>} */ headers = {},
  body = "",
) => answer(URL_, body, { status: number, headers });
const CALL = { api: "https://host.test/api", model: "https://host.test/models/tiny/", inputs: "good" };

/**
 * Timers that fire at once; the milliseconds they were set to.
 * @param {import("node:test").TestContext} context
 */
function pauses(context) {
  /** @type {number[]} */
  const slept = [];
  withGlobals(context, {
    location: new URL("https://host.test/page/"),
    setTimeout: (/** @type {() => void} */ done, /** @type {number} */ milliseconds) => {
      slept.push(milliseconds);
      queueMicrotask(done);
    },
  });
  return slept;
}

test("the text goes to /predict with the model's name, and the labels come back", async (context) => {
  pauses(context);
  const calls = fakeFetch(context, labels);
  assert.deepEqual(await predict({ ...CALL, task: "text-classification", parameters: { top_k: 2 } }), LABELS);
  assert.equal(calls[0].url, URL_);
  assert.deepEqual(JSON.parse(String(calls[0].init.body)), {
    model: "tiny",
    task: "text-classification",
    inputs: "good",
    parameters: { top_k: 2 },
  });
});

test("a long list goes in parts, in order, and the dtype that ran is told", async (context) => {
  pauses(context);
  const headers = { "edgeinfer-dtype": "q8" };
  const echo = (/** @type {string[]} */ texts) =>
    JSON.stringify(texts.map((text) => [{ label: text, score: 1 }]));
  const all = Array.from({ length: 600 }, (_, index) => `text ${index}`);
  const parts = [all.slice(0, 256), all.slice(256, 512), all.slice(512)];
  const calls = fakeFetch(
    context,
    ...parts.map((part) => () => answer(URL_, echo(part), { status: 200, headers })),
  );
  /** @type {(string | null)[]} */
  const dtypes = [];
  const found = await predict({ ...CALL, inputs: all, onDtype: (dtype) => dtypes.push(dtype) });
  assert.deepEqual(
    calls.map(({ init }) => JSON.parse(String(init.body)).inputs.length),
    [256, 256, 88],
  );
  assert.deepEqual(
    found.flat().map((/** @type {any} */ { label }) => label),
    all,
  );
  assert.deepEqual(dtypes, ["q8", "q8", "q8"]);
});

test("relative URLs are the page's", async (context) => {
  pauses(context);
  const calls = fakeFetch(context, labels);
  await predict({ ...CALL, api: "../api/", model: "/models/other" });
  assert.equal(calls[0].url, URL_);
  assert.equal(JSON.parse(String(calls[0].init.body)).model, "other");
});

for (const number of [429, 502, 503, 504]) {
  test(`a ${number} is tried again`, async (context) => {
    const slept = pauses(context);
    fakeFetch(context, () => status(number), labels);
    assert.deepEqual(await predict(CALL), LABELS);
    assert.deepEqual(slept, [250]);
  });
}

test("a network that is down is tried again, and then is a RemoteError that names the URL", async (context) => {
  const slept = pauses(context);
  const calls = fakeFetch(context, () => new TypeError("Failed to fetch"));
  await assert.rejects(predict(CALL), {
    name: "RemoteError",
    message: /api\/predict gave no answer.*Failed to fetch/,
  });
  assert.deepEqual([calls.length, slept], [3, [250, 1000]]);
});

test("Retry-After in seconds is waited for", async (context) => {
  const slept = pauses(context);
  fakeFetch(context, () => status(429, { "retry-after": "3" }), labels);
  await predict(CALL);
  assert.deepEqual(slept, [3000]);
});

test("Retry-After as a date is waited for", async (context) => {
  const slept = pauses(context);
  const date = new Date(Date.now() + 9000).toUTCString();
  fakeFetch(context, () => status(503, { "retry-after": date }), labels);
  await predict(CALL);
  assert.ok(slept[0] > 7000 && slept[0] <= 9000, String(slept));
});

for (const value of ["soon", "-5", "", "Thu, 01 Jan 1970 00:00:00 GMT"]) {
  test(`Retry-After ${JSON.stringify(value)} gets the usual pause`, async (context) => {
    const slept = pauses(context);
    fakeFetch(context, () => status(429, { "retry-after": value }), labels);
    await predict(CALL);
    assert.deepEqual(slept, [250]);
  });
}

test("a wait that is too long is not begun", async (context) => {
  const slept = pauses(context);
  fakeFetch(context, () => status(429, { "retry-after": "3600" }));
  await assert.rejects(predict(CALL), {
    name: "RateLimitedError",
    details: { url: URL_, status: 429, retry_after: 3600 },
  });
  assert.deepEqual(slept, []);
});

for (const [number, name] of /** @type {[number, string][]} */ ([
  [422, "InputError"],
  [413, "InputError"],
  [400, "RemoteError"],
  [401, "RemoteError"],
  [404, "RemoteError"],
  [409, "RemoteError"],
  [500, "RemoteError"],
])) {
  test(`a ${number} is a ${name} at once, in the server's own words`, async (context) => {
    pauses(context);
    const calls = fakeFetch(context, () => status(number, {}, '{"error": "Item 0 is a number."}'));
    await assert.rejects(predict(CALL), { name, message: /Item 0 is a number\./ });
    assert.equal(calls.length, 1);
  });

  test(`a ${number} without words still has a message`, async (context) => {
    pauses(context);
    fakeFetch(context, () => status(number, {}, "<html>nginx</html>"));
    await assert.rejects(predict(CALL), { name, message: new RegExp(`${number}`) });
  });
}

for (const body of [
  "<!doctype html>",
  "",
  "5",
  "{}",
  "null",
  '[{"name": "positive"}]',
  "[1]",
  '"positive"',
]) {
  test(`an answer of ${JSON.stringify(body)} at 200 is a RemoteError`, async (context) => {
    pauses(context);
    const calls = fakeFetch(context, () => answer(URL_, body));
    await assert.rejects(predict(CALL), { name: "RemoteError", message: /not with labels/ });
    assert.equal(calls.length, 1);
  });
}

test("a list of texts gets a list of lists", async (context) => {
  pauses(context);
  fakeFetch(context, () => answer(URL_, JSON.stringify([LABELS, LABELS])));
  assert.deepEqual(await predict({ ...CALL, inputs: ["a", "b"] }), [LABELS, LABELS]);
});

test("a server that is too slow is a DeadlineError and is not asked again", async (context) => {
  pauses(context);
  context.mock.method(AbortSignal, "timeout", () =>
    AbortSignal.abort(new DOMException("late", "TimeoutError")),
  );
  const calls = fakeFetch(context, (_, { signal }) => /** @type {Error} */ (signal?.reason));
  await assert.rejects(predict(CALL), {
    name: "DeadlineError",
    details: { step: `The request to ${URL_}`, seconds: 30 },
  });
  assert.equal(calls.length, 1);
});

test("an aborted call is not tried again", async (context) => {
  pauses(context);
  const calls = fakeFetch(context, (_, { signal }) => /** @type {Error} */ (signal?.reason));
  await assert.rejects(predict({ ...CALL, signal: AbortSignal.abort() }));
  assert.equal(calls.length, 1);
});
