import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";

/** @param {string} path from the project's root */
const read = (path) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));

const schema = read("edgeinfer_browser/manifest/edgeinfer.schema.json");
const { manifest, cases } = read("tests/manifest_cases.json");
const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);

/**
 * The shared manifest with one place changed, or taken away.
 * @param {{at: (string | number)[], put?: unknown}} change
 */
function changed({ at, ...change }) {
  const copy = structuredClone(manifest);
  const last = /** @type {string} */ (at.at(-1));
  const place = at.slice(0, -1).reduce((/** @type {any} */ value, key) => value[key], copy);
  if ("put" in change) place[last] = change.put;
  else delete place[last];
  return copy;
}

test("a second implementation of JSON Schema accepts the shared manifest", () => {
  assert.ok(validate(manifest), JSON.stringify(validate.errors));
});

for (const { what, valid, ...change } of cases) {
  test(`a second implementation judges as the shared table says: ${what}`, () => {
    assert.equal(validate(changed(change)), valid, JSON.stringify(validate.errors));
  });
}

const models = new URL("../../build/models/", import.meta.url);
const packed = existsSync(models)
  ? readdirSync(models).filter((name) => existsSync(new URL(`${name}/edgeinfer.json`, models)))
  : [];

for (const name of packed) {
  test(`a second implementation accepts what was packed: ${name}`, () => {
    assert.ok(validate(read(`build/models/${name}/edgeinfer.json`)), JSON.stringify(validate.errors));
  });
}
