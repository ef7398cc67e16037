/**
 * Segments: what has come of a file that is still under way, kept in a cache of its own so that a later visit goes on
 * where this one was cut. A segment lies under the file's key and its first byte's offset. Nothing ever takes them for
 * the file: it is put together, verified, and written to the other cache. They are a convenience, so nothing here
 * fails: where they cannot be kept or read, the download begins anew.
 * @module
 */
const CACHE_NAME = "edgeinfer-downloads-v1";
const VALIDATOR = "x-edgeinfer-validator";

/** Milliseconds after which a download that nobody went on with is given up. */
const STALE_MS = 24 * 3600 * 1000;

/** @typedef {{start: number, blob: Blob, validator: string}} Segment */

export class Segments {
  /** @type {Promise<unknown>} */
  #writing = Promise.resolve();
  #full = false;

  /**
   * @param {Cache} cache
   * @param {string} key of the file
   */
  constructor(cache, key) {
    this.cache = cache;
    this.prefix = `${new URL(key).href}&from=`;
  }

  /**
   * @param {string} key
   * @returns {Promise<Segments | null>} null where there is no Cache API
   */
  static async open(key) {
    const cache = await openCache();
    return cache && new Segments(cache, key);
  }

  /** Those that follow each other from byte 0 and come from one version of the file. @returns {Promise<Segment[]>} */
  async read() {
    /** @type {Segment[]} */
    const found = [];
    let end = 0;
    for (const request of await this.#keys()) {
      if (startOf(request) < end) continue; // written twice
      const response = await this.cache.match(request).catch(() => undefined);
      const validator = response?.headers.get(VALIDATOR) ?? "";
      if (!response || startOf(request) > end || validator !== (found[0]?.validator ?? validator)) break;
      const blob = await response.blob();
      found.push({ start: end, blob, validator });
      end += blob.size;
    }
    return found;
  }

  /**
   * In order, and not waited for. Where there is no room, there will be no resuming, and that is all.
   * @param {Segment} segment
   */
  put({ start, blob, validator }) {
    const url = `${this.prefix}${start}&at=${Date.now()}`;
    const response = new Response(blob, { headers: { [VALIDATOR]: validator } });
    this.#writing = this.#writing.then(async () => {
      if (!this.#full) await this.cache.put(url, response).catch(() => (this.#full = true));
    });
  }

  /** Wait for all that was put. */
  async written() {
    await this.#writing;
    if (this.#full) await this.clear();
  }

  async clear() {
    await this.#writing;
    await Promise.all((await this.#keys()).map((request) => this.cache.delete(request).catch(() => false)));
  }

  async #keys() {
    const all = await this.cache.keys().catch(() => []);
    return all.filter(({ url }) => url.startsWith(this.prefix)).sort((a, b) => startOf(a) - startOf(b));
  }
}

/** Give up downloads that nobody went on with for a day. */
export async function sweepStaleSegments() {
  const cache = await openCache();
  const oldest = Date.now() - STALE_MS;
  for (const request of (await cache?.keys().catch(() => [])) ?? []) {
    if (Number(parameter(request, "at")) < oldest) await cache?.delete(request).catch(() => false);
  }
}

/** @returns {Promise<Cache | null>} */
async function openCache() {
  try {
    return (await globalThis.caches?.open(CACHE_NAME)) ?? null;
  } catch {
    return null; // the cache of whole files, asked first, has said why
  }
}

/** @param {{url: string}} request */
const startOf = (request) => Number(parameter(request, "from"));

/**
 * @param {{url: string}} request
 * @param {string} name
 */
const parameter = ({ url }, name) => new URL(url).searchParams.get(name);
