import assert from "node:assert/strict";
import { test } from "node:test";
import { isAnswer, parameters } from "../../js_shim/answers.js";

const LABELS = [{ label: "positive", score: 0.9 }];
const HEADS = { embedding: [0.6, 0.8], heads: { sentiment: LABELS } };

for (const [options, named] of /** @type {[any, object][]} */ ([
  [{}, {}],
  [{ topK: undefined }, {}],
  [{ topK: null }, { top_k: null }],
  [
    { topK: 2, head: "topic" },
    { top_k: 2, head: "topic" },
  ],
  [
    { pooling: "cls", normalize: false },
    { pooling: "cls", normalize: false },
  ],
])) {
  test(`the options ${JSON.stringify(options)} are sent as ${JSON.stringify(named)}`, () => {
    assert.deepEqual(parameters(options), named);
  });
}

for (const name of ["topk", "top_k", "constructor", "__proto__x"]) {
  test(`the option ${name} is refused by its name, with those there are`, () => {
    assert.throws(() => parameters({ [name]: 1 }), { name: "UnknownNameError", message: /topK, head/ });
  });
}

for (const [kind, one] of /** @type {[any, any][]} */ ([
  ["labels", LABELS],
  ["embeddings", [0.6, 0.8]],
  ["embeddings", [[0.6], [0.8]]],
  ["heads", HEADS],
])) {
  const said = JSON.stringify(one);
  test(`${said} is an answer of ${kind}, and a list of it to a list of texts`, () => {
    assert.equal(isAnswer(one, kind, false), true);
    assert.equal(isAnswer([one, one], kind, true), true);
    assert.equal(isAnswer([], kind, true), true);
  });

  for (const other of ["labels", "embeddings", "heads"]) {
    if (other === kind) continue;
    test(`${said} is no answer of ${other}`, () => {
      assert.equal(isAnswer(one, /** @type {any} */ (other), false), false);
    });
  }
}

for (const wrong of [undefined, null, 5, "positive", {}, [{ name: "positive" }], [["a"]]]) {
  test(`${JSON.stringify(wrong)} is no answer`, () => {
    for (const kind of /** @type {const} */ (["labels", "embeddings", "heads"])) {
      assert.equal(isAnswer(wrong, kind, false), false);
    }
  });
}
