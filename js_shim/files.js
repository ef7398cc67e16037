/**
 * Files: fetch -> verify -> cache -> read. A file with a sha256 is kept in the Cache API under its URL and hash, and
 * verified each time it is read; where there is no Cache API it is kept in memory. No decisions: what to fetch, and
 * what to do when it fails, is Python's.
 * @module
 */
import { tooLate } from "./deadline.js";
import { ShimError } from "./shim_error.js";

/** @typedef {import("./protocol").FileSpec} FileSpec */
/** @typedef {import("./protocol").OnProgress} OnProgress */

const CACHE_NAME = "edgeinfer-models-v1";
const PROGRESS_MS = 100;

export class Files {
  constructor() {
    /** key -> Blob, for the sessions to come; a Blob of a cached file stays on the disk. @type {Map<string, Blob>} */
    this.blobs = new Map();
  }

  /**
   * The file's key in `blobs`; it is there, whole and verified, when this resolves.
   * @param {FileSpec} file
   * @param {AbortSignal} signal
   * @param {OnProgress} [onProgress]
   */
  async get(file, signal, onProgress = () => {}) {
    const blob = await this.read(file, signal, onProgress);
    this.blobs.set(keyOf(file), blob);
    onProgress(blob.size, blob.size);
    return keyOf(file);
  }

  /**
   * The file itself, whole and verified; nothing is kept in `blobs`.
   * @param {FileSpec} file
   * @param {AbortSignal} signal
   * @param {OnProgress} [onProgress]
   */
  async read(file, signal, onProgress = () => {}) {
    const key = keyOf(file);
    const kept = file.sha256 ? (this.blobs.get(key) ?? (await readCache(key, file))) : undefined;
    return kept ?? (await this.#fetch(file, key, signal, onProgress));
  }

  /**
   * @param {FileSpec} file
   * @param {string} key
   * @param {AbortSignal} signal
   * @param {OnProgress} onProgress
   */
  async #fetch(file, key, signal, onProgress) {
    const blob = await downloadVerified(file, signal, onProgress);
    return file.sha256 ? ((await writeCache(key, file, blob)) ?? blob) : blob;
  }
}

/** @param {FileSpec} file */
const keyOf = ({ url, sha256 }) => (sha256 ? `${url}?sha256=${sha256}` : url);

/**
 * A copy of an earlier revision may still be in the browser's HTTP cache, so a wrong file is fetched once more, past it.
 * @param {FileSpec} file
 * @param {AbortSignal} signal
 * @param {OnProgress} onProgress
 */
async function downloadVerified(file, signal, onProgress) {
  const first = await download(file, "default", signal, onProgress);
  if (!(await whatIsWrong(file, first))) return first;
  const second = await download(file, "reload", signal, onProgress);
  const wrong = await whatIsWrong(file, second);
  if (wrong) throw wrong;
  return second;
}

/**
 * @param {FileSpec} file
 * @param {RequestCache} cache
 * @param {AbortSignal} outer
 * @param {OnProgress} onProgress
 */
async function download(file, cache, outer, onProgress) {
  const stall = new StallTimer(file.timeout);
  const signal = AbortSignal.any([outer, stall.signal]);
  try {
    const response = await fetch(file.url, { signal, cache });
    checkStatus(response);
    return await readBody(response, file, stall, onProgress);
  } catch (error) {
    if (error instanceof ShimError) throw error;
    if (stall.signal.aborted) throw tooLate(`Fetching ${file.url} (waiting for more bytes)`, file.timeout);
    if (outer.aborted)
      throw new ShimError("FetchError", `Fetching ${file.url} was cancelled.`, { url: file.url });
    const why = `${file.url} could not be fetched (${error}). Check the connection, the URL and CORS.`;
    throw new ShimError("FetchError", why, { url: file.url });
  } finally {
    stall.stop();
  }
}

/** Aborts when nothing has come for a while; a slow download that goes on is left alone. */
class StallTimer {
  #controller = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {number} seconds */
  constructor(seconds) {
    this.seconds = seconds;
    this.restart();
  }

  get signal() {
    return this.#controller.signal;
  }

  restart() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), this.seconds * 1000);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}

/** @param {Response} response */
function checkStatus({ ok, status, url }) {
  if (ok) return;
  const details = { url, status };
  if (status === 404 || status === 410) {
    throw new ShimError("NotFoundError", `${url} was not found (${status}). Check the model's URL.`, details);
  }
  throw new ShimError("FetchError", `${url} answered ${status}.`, details);
}

/**
 * @param {Response} response
 * @param {FileSpec} file
 * @param {StallTimer} stall
 * @param {OnProgress} onProgress
 */
async function readBody(response, file, stall, onProgress) {
  const total = file.bytes || Number(response.headers.get("content-length")) || 0;
  const chunks = [];
  let loaded = 0;
  let told = 0;
  if (response.body) {
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      stall.restart();
      chunks.push(value);
      loaded += value.byteLength;
      if (Date.now() - told > PROGRESS_MS) onProgress(loaded, (told = Date.now()) && total);
    }
  }
  const blob = new Blob(chunks);
  await checkContent(response, blob);
  return blob;
}

/**
 * A host that answers every path with a page, or a Git-LFS checkout without its files, is told from a broken file.
 * @param {Response} response
 * @param {Blob} blob
 */
async function checkContent(response, blob) {
  const url = response.url;
  if (blob.size === 0) throw new ShimError("ContentError", `${url} is empty. Copy the model again.`, { url });
  const head = (await blob.slice(0, 64).text()).trimStart().toLowerCase();
  if (head.startsWith("<!doctype") || head.startsWith("<html")) {
    const why = `${url} answered ${response.status} with an HTML page instead of the file. Check the path; hosts of `;
    throw new ShimError("ContentError", `${why}single-page apps answer so when there is no such file.`, {
      url,
    });
  }
  if (head.startsWith("version https://git-lfs")) {
    throw new ShimError("ContentError", `${url} is a Git-LFS pointer, not the file. Run "git lfs pull".`, {
      url,
    });
  }
}

/**
 * @param {FileSpec} file
 * @param {Blob} blob
 * @returns {Promise<ShimError | null>}
 */
async function whatIsWrong(file, blob) {
  if (file.bytes && blob.size !== file.bytes)
    return integrity(file, `${file.bytes} bytes`, `${blob.size} bytes`);
  // crypto.subtle is missing in insecure contexts; there the size, and later the golden sample, must do.
  if (!file.sha256 || !globalThis.crypto?.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", await blob.arrayBuffer());
  const actual = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
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

/** @returns {Promise<Cache | null>} null where there is none: private windows, insecure contexts */
async function openCache() {
  try {
    return (await globalThis.caches?.open(CACHE_NAME)) ?? null;
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {FileSpec} file
 */
async function readCache(key, file) {
  const cache = await openCache();
  try {
    const blob = await (await cache?.match(key))?.blob();
    if (!blob || !(await whatIsWrong(file, blob))) return blob;
    await cache?.delete(key); // damaged: fetch it anew
  } catch {
    // The cache is a hint: one that cannot be read is as good as none.
  }
  return undefined;
}

/**
 * Keep a verified file, and drop the same file of other revisions. Undefined when it could not be kept.
 * @param {string} key
 * @param {FileSpec} file
 * @param {Blob} blob
 */
async function writeCache(key, file, blob) {
  const cache = await openCache();
  if (!cache) return undefined;
  try {
    await cache.put(key, new Response(blob));
    for (const old of await cache.keys(file.url, { ignoreSearch: true })) {
      if (old.url !== new URL(key).href) await cache.delete(old);
    }
    return await (await cache.match(key))?.blob();
  } catch {
    return undefined; // quota: the file is used from memory
  }
}
