/**
 * The cache of whole files: each lies under its URL and sha256, and only what was verified is put there. It is a hint:
 * the browser may empty it at any time, and a file is verified again each time it is read.
 * @module
 */
import { cacheUnavailable, damagedEntry, notKept } from "./notices.js";
import { whatIsWrong } from "./verify.js";

/** @typedef {import("./protocol").FileSpec} FileSpec */
/** @typedef {(notice: import("./protocol").Notice) => void} OnNotice */

const CACHE_NAME = "edgeinfer-models-v1";

/** Where a packed model's files lie below its folder: graphs, the pooling of sentence-transformers, all others. */
const PACKED_PATH = /^((onnx|1_Pooling)\/)?[^/]+$/;

/** @param {Pick<FileSpec, "url" | "sha256">} file */
export const keyOf = ({ url, sha256 }) => (sha256 ? `${url}?sha256=${sha256}` : url);

/**
 * @param {OnNotice} onNotice told why there is none
 * @returns {Promise<Cache | null>} null where there is none (insecure contexts), or it refuses (private windows)
 */
export async function openModelCache(onNotice) {
  try {
    const cache = await globalThis.caches?.open(CACHE_NAME);
    await cache?.match("https://edgeinfer.invalid/"); // one that opens and cannot be read is none
    if (cache) return cache;
    onNotice(cacheUnavailable(undefined));
  } catch (error) {
    onNotice(cacheUnavailable(error));
  }
  return null;
}

/**
 * The file, whole and verified, or null. A damaged entry is evicted.
 * @param {Cache} cache
 * @param {FileSpec} file
 * @param {OnNotice} onNotice
 */
export async function readCommitted(cache, file, onNotice) {
  let why = "";
  try {
    const blob = await (await cache.match(keyOf(file)))?.blob();
    if (!blob) return null;
    const wrong = await whatIsWrong(file, blob);
    if (!wrong) return blob;
    why = wrong.message;
  } catch (error) {
    why = `it could not be read: ${error}`;
  }
  onNotice(damagedEntry(file.url, why));
  await cache.delete(keyOf(file)).catch(() => false); // the commit will overwrite it
  return null;
}

/**
 * Keep a verified file: the one write that makes it count as there. Then its segments have done their work.
 * @param {Cache} cache
 * @param {FileSpec} file
 * @param {Blob} blob
 * @param {import("./segments.js").Segments | null} segments
 * @param {OnNotice} onNotice told why it could not be kept
 * @returns {Promise<{blob: Blob, committed: boolean}>} the file on the disk, else in memory
 */
export async function commit(cache, file, blob, segments, onNotice) {
  const kept = await write(cache, file, blob).catch(() => null);
  // Segments take room, too. The file may consist of them, so it is copied before they go.
  const inMemory = kept ?? new Blob([await blob.arrayBuffer()]);
  await segments?.clear();
  if (kept) return { blob: kept, committed: true };
  try {
    return { blob: await write(cache, file, inMemory), committed: true };
  } catch (error) {
    onNotice(await notKept(error, blob.size));
    return { blob: inMemory, committed: false };
  }
}

/**
 * @param {Cache} cache
 * @param {FileSpec} file
 * @param {Blob} blob
 */
async function write(cache, file, blob) {
  await cache.put(keyOf(file), new Response(blob));
  const kept = await cache.match(keyOf(file));
  if (!kept) throw new Error("it was evicted at once");
  return kept.blob();
}

/**
 * Remove the files of a model folder that its current revision does not have. For when that revision is whole.
 * @param {string} folder absolute URL, ending in "/"
 * @param {Pick<FileSpec, "url" | "sha256">[]} current every file of the revision, fetched or not
 * @returns {Promise<number>} entries removed
 */
export async function forgetOldRevisions(folder, current) {
  const cache = await openModelCache(() => {});
  const keep = new Set(current.map((file) => new URL(keyOf(file)).href));
  const keys = (await cache?.keys().catch(() => [])) ?? []; // they stay until the next time
  const old = keys.filter(({ url }) => !keep.has(url) && isOf(folder, url));
  await Promise.all(old.map((request) => cache?.delete(request)));
  return old.length;
}

/**
 * A model folder may lie inside another one, whose files are none of its business.
 * @param {string} folder
 * @param {string} key
 */
function isOf(folder, key) {
  const path = key.split("?")[0];
  return path.startsWith(folder) && PACKED_PATH.test(path.slice(folder.length));
}
