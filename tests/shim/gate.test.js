import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { remoteOnlyReason } from "../../js_shim/gate.js";

const cases = JSON.parse(readFileSync(new URL("../gate_cases.json", import.meta.url), "utf8"));

for (const { why, preset, tier, api, webassembly, saveData, offline = false, remote } of cases) {
  test(`the gate decides as the shared table says: ${why}`, () => {
    const wish = { policy: preset, tier, api: api ? "https://host.test/api/" : undefined };
    const reason = remoteOnlyReason(wish, { webassembly, saveData, offline });
    assert.equal(reason !== null, remote);
    if (reason !== null) assert.ok(reason.length > 10);
  });
}

test("the default policy is prefer-local", () => {
  const facts = { webassembly: true, saveData: true, offline: false };
  assert.match(remoteOnlyReason({ api: "/api/" }, facts) ?? "", /Save-Data/);
  assert.equal(remoteOnlyReason({ api: "/api/" }, { ...facts, saveData: false }), null);
});
