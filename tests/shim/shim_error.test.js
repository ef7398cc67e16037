import assert from "node:assert/strict";
import { test } from "node:test";
import { ShimError, fromFields, toFields } from "../../js_shim/shim_error.js";

test("a ShimError crosses with its name, message and details, and back", () => {
  const error = new ShimError("NotFoundError", "u was not found (404).", { url: "u", status: 404 });
  const back = fromFields(structuredClone(toFields(error)));
  assert.ok(back instanceof ShimError);
  assert.deepEqual(toFields(back), toFields(error));
});

test("any other error crosses under the given name and keeps its own in the message", () => {
  const fields = toFields(new TypeError("x is not a function"), "RunError");
  assert.deepEqual(fields, { name: "RunError", message: "TypeError: x is not a function", details: {} });
});

for (const [thrown, message] of /** @type {[unknown, string][]} */ ([
  [undefined, "undefined"],
  [null, "null"],
  [5273736, "5273736"],
  ["aborted", "aborted"],
  [{ name: "Odd" }, "Odd: [object Object]"],
])) {
  test(`a thrown ${String(JSON.stringify(thrown))} crosses with a message`, () => {
    assert.deepEqual(toFields(thrown), { name: "EdgeInferError", message, details: {} });
  });
}

test("a ShimError has details even where none were given", () => {
  assert.deepEqual(new ShimError("InputError", "no").details, {});
});
