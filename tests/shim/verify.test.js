import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { whatIsWrong } from "../../js_shim/verify.js";
import { withGlobals } from "./fakes.js";
import { sha256 } from "./file_server.js";

const spec = (/** @type {Buffer} */ data) => ({
  url: "u",
  sha256: sha256(data),
  bytes: data.length,
  timeout: 1,
});

for (const insecure of [false, true]) {
  const where = insecure ? "without crypto.subtle" : "with crypto.subtle";

  for (const size of [0, 1, 55, 56, 64, 1000, 3_000_000]) {
    test(`${size} bytes are verified ${where}, and one bit of them is noticed`, async (context) => {
      if (insecure) withGlobals(context, { crypto: {} });
      const data = Buffer.from(new Uint8Array(randomBytes(size)));
      assert.equal(await whatIsWrong(spec(data), new Blob([data])), null);
      if (!size) return;
      const damaged = new Uint8Array(data);
      damaged[size >> 1] ^= 1;
      const wrong = await whatIsWrong(spec(data), new Blob([damaged]));
      assert.equal(wrong?.name, "IntegrityError");
      assert.deepEqual(wrong?.details, {
        url: "u",
        expected: `sha256 ${sha256(data)}`,
        actual: `sha256 ${sha256(Buffer.from(damaged))}`,
      });
    });
  }
}

test("a file of which nobody knows anything cannot be wrong", async () => {
  assert.equal(await whatIsWrong({ url: "u", sha256: "", bytes: 0, timeout: 1 }, new Blob(["x"])), null);
});
