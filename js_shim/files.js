/**
 * Files: cache -> download -> verify -> commit. What to fetch, and what to do when it fails, is Python's to decide.
 * @module
 */
import { cancelled, download } from "./download.js";
import { alone } from "./locks.js";
import { commit, keyOf, openModelCache, readCommitted } from "./model_cache.js";
import { Received } from "./received.js";
import { pause } from "./retries.js";
import { Segments, sweepStaleSegments } from "./segments.js";
import { SharedWork } from "./shared_work.js";
import { whatIsWrong } from "./verify.js";

/** @typedef {import("./protocol").FileSpec} FileSpec */
/** @typedef {import("./protocol").Notice} Notice */
/** @typedef {import("./protocol").OnProgress} OnProgress */
/** @typedef {{blob: Blob, notices: Notice[]}} Kept a file, and what was given up to have it */

export class Files {
  /** key -> file, for the sessions to come; a Blob of a cached file stays on the disk. @type {Map<string, Kept>} */
  kept = new Map();
  /** @type {SharedWork<Kept>} */
  #fetching = new SharedWork();

  /** @param {{onCommit?: () => void, pause?: typeof pause}} [options] `onCommit` is called when a file was cached */
  constructor({ onCommit = () => {}, pause: wait = pause } = {}) {
    this.onCommit = onCommit;
    this.pause = wait;
  }

  /**
   * The file's key in `kept`; it is there, whole and verified, when this resolves.
   * @param {FileSpec} file
   * @param {AbortSignal} signal
   * @param {OnProgress} [onProgress]
   */
  async get(file, signal, onProgress = () => {}) {
    const key = keyOf(file);
    const found = await this.read(file, signal, onProgress);
    this.kept.set(key, found);
    onProgress(found.blob.size, found.blob.size);
    return { key, notices: found.notices };
  }

  /**
   * The file itself, whole and verified; nothing is kept in `kept`. Several callers share one download.
   * @param {FileSpec} file
   * @param {AbortSignal} signal
   * @param {OnProgress} [onProgress]
   * @returns {Promise<Kept>}
   */
  async read(file, signal, onProgress = () => {}) {
    const known = file.sha256 ? this.kept.get(keyOf(file)) : undefined;
    if (known) return known;
    if (signal.aborted) throw cancelled(file.url);
    try {
      return await this.#fetching.join(keyOf(file), signal, onProgress, (...caller) =>
        this.#find(file, ...caller),
      );
    } catch (error) {
      throw signal.aborted ? cancelled(file.url) : error;
    }
  }

  /**
   * A file without a hash is never cached, as nobody could verify it.
   * @param {FileSpec} file
   * @param {AbortSignal} signal
   * @param {OnProgress} onProgress
   * @returns {Promise<Kept>}
   */
  async #find(file, signal, onProgress) {
    /** @type {Notice[]} */
    const notices = [];
    const tell = (/** @type {Notice} */ notice) =>
      notices.some(({ kind }) => kind === notice.kind) || notices.push(notice);
    const cache = file.sha256 ? await openModelCache(tell) : null;
    if (!cache) return { blob: await this.#download(file, null, signal, onProgress), notices };
    const read = () => readCommitted(cache, file, tell);
    const fetch = async (/** @type {OnProgress} */ told) =>
      // Another tab may have had it in the meantime.
      (await read()) ?? this.#fetchAndCommit(cache, file, { signal, onProgress: told, tell });
    const options = { signal, onProgress, timeout: file.timeout };
    const blob = (await read()) ?? (await alone(keyOf(file), options, fetch));
    return { blob, notices };
  }

  /**
   * @param {Cache} cache
   * @param {FileSpec} file
   * @param {{signal: AbortSignal, onProgress: OnProgress, tell: (notice: Notice) => void}} caller
   */
  async #fetchAndCommit(cache, file, { signal, onProgress, tell }) {
    const segments = await Segments.open(keyOf(file));
    const blob = await this.#download(file, segments, signal, onProgress);
    const kept = await commit(cache, file, blob, segments, tell);
    void sweepStaleSegments();
    if (kept.committed) this.onCommit();
    return kept.blob;
  }

  /**
   * A copy of an earlier revision may be in the browser's HTTP cache, or in what an earlier visit left, so a wrong file
   * is fetched once more, past both.
   * @param {FileSpec} file
   * @param {Segments | null} segments
   * @param {AbortSignal} signal
   * @param {OnProgress} onProgress
   */
  async #download(file, segments, signal, onProgress) {
    const options = { signal, onProgress, pause: this.pause };
    const received = await Received.resume(segments);
    const first = await download(file, received, { ...options, cache: "default" });
    if (!(await whatIsWrong(file, first))) return first;
    await received.restart();
    const second = await download(file, received, { ...options, cache: "reload" });
    const wrong = await whatIsWrong(file, second);
    if (!wrong) return second;
    await received.restart();
    throw wrong;
  }
}
