/**
 * Notices: what was given up to get the right answer all the same, and why. Each kind is one sentence for the user;
 * Python passes it on once.
 * @module
 */

/** @typedef {import("./protocol").Notice} Notice */

/** Chromium's and WebKit's name for a full cache, and Firefox's, whose Cache.put has one of its own. */
const QUOTA_NAMES = ["QuotaExceededError", "NS_ERROR_FILE_NO_DEVICE_SPACE", "NS_ERROR_DOM_QUOTA_REACHED"];

/**
 * @param {unknown} error what opening the cache threw; undefined where there is none
 * @returns {Notice}
 */
export function cacheUnavailable(error) {
  const why = error
    ? `the Cache API refuses (${error})`
    : "there is no Cache API here (it needs https or localhost)";
  const message = `Model files are not kept on this device: ${why}. They are fetched again on the next visit.`;
  return { kind: "cache_unavailable", message };
}

/**
 * @param {unknown} error what writing threw
 * @param {number} bytes of the file
 * @returns {Promise<Notice>}
 */
export async function notKept(error, bytes) {
  const { name } = /** @type {{name?: string}} */ (error ?? {});
  const next = "It is used from memory and fetched again on the next visit.";
  if (!QUOTA_NAMES.includes(name ?? "")) {
    const message = `A model file of ${megabytes(bytes)} could not be kept on this device (${error}). ${next}`;
    return { kind: "cache_write_failed", message };
  }
  const why = `the browser's storage for this site is full (${name}${await room()})`;
  const message = `A model file of ${megabytes(bytes)} is not kept: ${why}. ${next}`;
  return { kind: "quota_exceeded", message };
}

/**
 * @param {string} url
 * @param {string} why
 * @returns {Notice}
 */
export const damagedEntry = (url, why) => ({
  kind: "cache_entry_damaged",
  message: `The copy of ${url} on this device was damaged and is fetched anew (${why}).`,
});

/** How much the browser says there is; it may not say, or not tell the truth. */
async function room() {
  const { quota, usage } = (await globalThis.navigator?.storage?.estimate().catch(() => null)) ?? {};
  if (quota === undefined || usage === undefined) return "";
  return `; ${megabytes(usage)} of ${megabytes(quota)} in use`;
}

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
