/**
 * Tensors <-> one list of entries and one run of bytes (the same frame as `edgeinfer_browser/wire.py`).
 * @module
 */
import { ShimError } from "./shim_error.js";

/** @typedef {import("./protocol").TensorEntry} TensorEntry */

/** dtype -> the typed array ONNX Runtime wants. float16 travels as raw 16-bit patterns. @type {Record<string, any>} */
const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

/**
 * @param {{Tensor: any}} ort
 * @param {TensorEntry[]} entries
 * @param {Uint8Array} payload
 * @returns {Record<string, any>} name -> ort.Tensor
 */
export function unpackFeeds(ort, entries, payload) {
  /** @type {Record<string, any>} */
  const feeds = {};
  let at = payload.byteOffset;
  for (const { name, dtype, dims, bytes } of entries) {
    const TypedArray = ARRAYS[dtype];
    if (!TypedArray) throw new ShimError("InputError", `The shim knows no tensor dtype ${dtype}.`, { dtype });
    // slice() copies, which also aligns: a BigInt64Array may not start at an odd place.
    feeds[name] = new ort.Tensor(dtype, new TypedArray(payload.buffer.slice(at, at + bytes)), dims);
    at += bytes;
  }
  return feeds;
}

/**
 * @param {Record<string, any>} outputs name -> ort.Tensor on the CPU
 * @returns {{tensors: TensorEntry[], payload: Uint8Array}}
 */
export function packOutputs(outputs) {
  const tensors = Object.entries(outputs).map(([name, { type, dims, data }]) => ({
    name,
    dtype: type,
    dims: [...dims],
    bytes: data.byteLength,
  }));
  const payload = new Uint8Array(tensors.reduce((sum, { bytes }) => sum + bytes, 0));
  let at = 0;
  for (const { data } of Object.values(outputs)) {
    payload.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return { tensors, payload };
}
