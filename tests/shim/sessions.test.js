import assert from "node:assert/strict";
import { test } from "node:test";
import { Sessions } from "../../js_shim/sessions.js";
import { fakeWorkers, noSignal } from "./fakes.js";

/** @typedef {import("./fakes.js").FakeWorker} FakeWorker */

/** @type {Parameters<Sessions["create"]>[0]} */
const CREATE = {
  type: "create",
  executionProvider: "wasm",
  moduleUrl: "ort.mjs",
  wasmUrl: "ort.wasm",
  files: [],
};
/** @returns {Parameters<Sessions["ask"]>[1]} */
const run = () => ({ type: "run", tensors: [], payload: new Uint8Array(4) });

/** A worker that makes its session and answers each run with the run's number. */
const good = (/** @type {FakeWorker} */ worker, /** @type {any} */ { id, type }) =>
  worker.answer({ id, value: type === "create" ? { inputNames: ["input_ids"] } : { answer: id } });

/** A worker that makes its session and then hangs. */
const hanging = (/** @type {FakeWorker} */ worker, /** @type {any} */ request) =>
  request.type === "create" && good(worker, request);

const soon = () => new Promise((resolve) => setTimeout(resolve, 1));

/** @param {Sessions} sessions */
const create = (sessions, seconds = 5, signal = noSignal()) => sessions.create(CREATE, seconds, signal);

test("each session has a worker and a handle of its own", async (context) => {
  const workers = fakeWorkers(context, good);
  const sessions = new Sessions("worker.js");
  const [one, two] = [await create(sessions), await create(sessions)];
  assert.notEqual(one.session, two.session);
  assert.deepEqual(one.inputNames, ["input_ids"]);
  assert.deepEqual(
    workers.map(({ url, terminated }) => [url, terminated]),
    [
      ["worker.js", false],
      ["worker.js", false],
    ],
  );
});

test("answers go to whoever asked, in whatever order they come", async (context) => {
  const workers = fakeWorkers(context, hanging);
  const sessions = new Sessions("worker.js");
  const { session } = await create(sessions);
  const asked = [sessions.ask(session, run(), 5), sessions.ask(session, run(), 5)];
  await soon();
  for (const { id } of workers[0].requests.slice(1).reverse()) workers[0].answer({ id, value: id });
  assert.deepEqual(await Promise.all(asked), [2, 3]);
});

test("a rejected run is told by its own error and does not harm the next", async (context) => {
  const error = { name: "RunError", message: "no kernel", details: { op: "Cast" } };
  fakeWorkers(context, (worker, request) =>
    request.id === 2 ? worker.answer({ id: 2, error }) : good(worker, request),
  );
  const sessions = new Sessions("worker.js");
  const { session } = await create(sessions);
  await assert.rejects(sessions.ask(session, run(), 5), error);
  assert.deepEqual(await sessions.ask(session, run(), 5), { answer: 3 });
});

test("a worker that dies fails all that waits for it, and later calls at once", async (context) => {
  const workers = fakeWorkers(context, hanging);
  const sessions = new Sessions("worker.js");
  const { session } = await create(sessions);
  const asked = [sessions.ask(session, run(), 5), sessions.ask(session, run(), 5)];
  workers[0].die("out of memory");
  for (const each of asked)
    await assert.rejects(each, { name: "SessionError", message: /died: out of memory/ });
  await assert.rejects(sessions.ask(session, run(), 5), { name: "SessionError", message: /out of memory/ });
  assert.equal(workers[0].terminated, true);
});

test("a script that cannot be loaded fails the session with a reason", async (context) => {
  const workers = fakeWorkers(context, (worker) => worker.onerror({ preventDefault: () => {} }));
  await assert.rejects(create(new Sessions("worker.js")), {
    name: "SessionError",
    message: /worker\.js died: its script could not be loaded/,
  });
  assert.equal(workers[0].terminated, true);
});

test("a hung run is a DeadlineError, and releasing the session ends its worker", async (context) => {
  const workers = fakeWorkers(context, hanging);
  const sessions = new Sessions("worker.js");
  const { session } = await create(sessions);
  await assert.rejects(sessions.ask(session, run(), 0.01), { name: "DeadlineError" });
  sessions.release(session);
  assert.equal(workers[0].terminated, true);
});

test("releasing a session fails what waits, and calls after it", async (context) => {
  fakeWorkers(context, hanging);
  const sessions = new Sessions("worker.js");
  const { session } = await create(sessions);
  const asked = sessions.ask(session, run(), 5);
  sessions.release(session);
  sessions.release(session);
  await assert.rejects(asked, { name: "SessionError", message: /was released/ });
  await assert.rejects(sessions.ask(session, run(), 5), { name: "SessionError", details: { session } });
});

test("releasing one session leaves the others alone", async (context) => {
  fakeWorkers(context, good);
  const sessions = new Sessions("worker.js");
  const [one, two] = [await create(sessions), await create(sessions)];
  sessions.release(one.session);
  assert.deepEqual(await sessions.ask(two.session, run(), 5), { answer: 2 });
});

test("a session that cannot be created ends its worker and is told by its error", async (context) => {
  const error = { name: "SessionError", message: "bad model", details: {} };
  const workers = fakeWorkers(context, (worker, { id }) => worker.answer({ id, error }));
  await assert.rejects(create(new Sessions("worker.js")), error);
  assert.equal(workers[0].terminated, true);
});

test("a session that takes too long is a DeadlineError that names the tier, and its worker is ended", async (context) => {
  const workers = fakeWorkers(context, () => {});
  await assert.rejects(create(new Sessions("worker.js"), 0.01), {
    name: "DeadlineError",
    message: /Creating the wasm session/,
  });
  assert.equal(workers[0].terminated, true);
});

test("aborting ends the worker of a session that is being made", async (context) => {
  const workers = fakeWorkers(context, () => {});
  const controller = new AbortController();
  const making = create(new Sessions("worker.js"), 5, controller.signal);
  controller.abort();
  await assert.rejects(making, { name: "SessionError", message: /cancelled/ });
  assert.equal(workers[0].terminated, true);
});
