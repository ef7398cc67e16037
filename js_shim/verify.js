/**
 * Verification: a file is what the model's manifest says it is, by size and sha256.
 * @module
 */
/*! Has sha256 of @noble/hashes: The MIT License, Copyright (c) 2022 Paul Miller (https://paulmillr.com) */
import { sha256 as library } from "@noble/hashes/sha2.js";
import { ShimError } from "./shim_error.js";

/** @typedef {import("./protocol").FileSpec} FileSpec */

/**
 * What is wrong with a file, or null. A file of which nobody knows size and hash cannot be wrong.
 * @param {FileSpec} file
 * @param {Blob} blob
 * @returns {Promise<ShimError | null>}
 */
export async function whatIsWrong(file, blob) {
  if (file.bytes && blob.size !== file.bytes) {
    // A download is stopped at the first byte too many, so how many there are is not known.
    const actual = blob.size > file.bytes ? `more than ${file.bytes} bytes` : `${blob.size} bytes`;
    return integrity(file, `${file.bytes} bytes`, actual);
  }
  if (!file.sha256) return null;
  const actual = await sha256(blob);
  return actual === file.sha256 ? null : integrity(file, `sha256 ${file.sha256}`, `sha256 ${actual}`);
}

/**
 * @param {FileSpec} file
 * @param {string} expected
 * @param {string} actual
 */
function integrity({ url }, expected, actual) {
  const why = `${url} has ${actual}, but the model's manifest says ${expected}. Copy or pack the model again.`;
  return new ShimError("IntegrityError", why, { url, expected, actual });
}

/**
 * sha256 as hex. `crypto.subtle` is missing in insecure contexts; there a library does the same, more slowly.
 * @param {Blob} blob
 */
async function sha256(blob) {
  const digest = globalThis.crypto?.subtle
    ? new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()))
    : await digestWithLibrary(blob);
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Piece by piece, so that the file is never in memory as a whole. @param {Blob} blob */
async function digestWithLibrary(blob) {
  const hash = library.create();
  for (const reader = blob.stream().getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return hash.digest();
    hash.update(value);
  }
}
