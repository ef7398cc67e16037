import assert from "node:assert/strict";
import { test } from "node:test";
import { packOutputs, unpackFeeds } from "../../js_shim/tensor_frame.js";

class Tensor {
  /**
   * @param {string} type
   * @param {any} data
   * @param {number[]} dims
   */
  constructor(type, data, dims) {
    Object.assign(this, { type, data, dims });
  }
}

const VALUES = {
  float32: new Float32Array([1.5, -2]),
  float64: new Float64Array([1.5, -2]),
  float16: new Uint16Array([0x3c00, 0xc000]),
  int8: new Int8Array([-128, 127]),
  int16: new Int16Array([-5, 5]),
  int32: new Int32Array([-5, 5]),
  int64: new BigInt64Array([-(2n ** 63n), 2n ** 63n - 1n]),
  uint8: new Uint8Array([0, 255]),
  uint16: new Uint16Array([0, 65535]),
  uint32: new Uint32Array([0, 4294967295]),
  uint64: new BigUint64Array([0n, 2n ** 64n - 1n]),
  bool: new Uint8Array([0, 1]),
};

const tensors = () =>
  Object.fromEntries(
    Object.entries(VALUES).map(([dtype, data]) => [`a ${dtype}`, new Tensor(dtype, data, [1, 2])]),
  );

test("tensors of every dtype survive a round trip, in order", () => {
  const { tensors: entries, payload } = packOutputs(tensors());
  assert.deepEqual(unpackFeeds({ Tensor }, entries, payload), tensors());
});

test("an int64 tensor is read right from an odd place, and from a view of a larger buffer", () => {
  const entries = [
    { name: "flag", dtype: "bool", dims: [1], bytes: 1 },
    { name: "ids", dtype: "int64", dims: [1], bytes: 8 },
  ];
  const buffer = new Uint8Array(3 + 9);
  const payload = buffer.subarray(3);
  payload[0] = 1;
  new DataView(payload.buffer).setBigInt64(payload.byteOffset + 1, -7n, true);
  const feeds = unpackFeeds({ Tensor }, entries, payload);
  assert.deepEqual(feeds.ids.data, new BigInt64Array([-7n]));
  assert.deepEqual(feeds.flag.data, new Uint8Array([1]));
});

test("feeds are copies: the payload may be used again", () => {
  const payload = new Uint8Array(4);
  const feeds = unpackFeeds({ Tensor }, [{ name: "x", dtype: "int32", dims: [1], bytes: 4 }], payload);
  payload.fill(255);
  assert.deepEqual(feeds.x.data, new Int32Array([0]));
});

test("an output that views a part of a larger buffer gives that part alone", () => {
  const data = new Float32Array([9, 1, 2, 9]).subarray(1, 3);
  const { tensors: entries, payload } = packOutputs({ logits: new Tensor("float32", data, [1, 2]) });
  assert.deepEqual(entries, [{ name: "logits", dtype: "float32", dims: [1, 2], bytes: 8 }]);
  assert.deepEqual(new Float32Array(payload.buffer), new Float32Array([1, 2]));
});

test("an unknown dtype is an InputError that names it", () => {
  const entry = { name: "x", dtype: "string", dims: [1], bytes: 1 };
  assert.throws(() => unpackFeeds({ Tensor }, [entry], new Uint8Array(1)), {
    name: "InputError",
    details: { dtype: "string" },
  });
});

test("no tensors are an empty frame", () => {
  assert.deepEqual(packOutputs({}), { tensors: [], payload: new Uint8Array() });
  assert.deepEqual(unpackFeeds({ Tensor }, [], new Uint8Array()), {});
});
