import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../../js_shim/deadline.js";

const never = () => new Promise(() => {});

test("a promise that settles in time keeps its outcome", async () => {
  assert.equal(await within(Promise.resolve(7), 10, "Waiting"), 7);
  await assert.rejects(within(Promise.reject(new Error("no")), 10, "Waiting"), /^Error: no$/);
});

test("a promise that does not settle is a DeadlineError that names the step and the seconds", async () => {
  await assert.rejects(within(never(), 0.01, "The run"), {
    name: "DeadlineError",
    message: "The run took longer than 0.01 s.",
    details: { step: "The run", seconds: 0.01 },
  });
});

test("no timer is left behind, whatever the outcome", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  await within(Promise.resolve(), 1, "Waiting");
  await within(Promise.reject(new Error("no")), 1, "Waiting").catch(() => {});
  context.mock.timers.tick(5000); // a late rejection would fail the test
});
