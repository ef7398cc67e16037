/**
 * Retries: whether a download that failed is tried again, and after how long.
 * @module
 */

/** Tries in a row that bring next to nothing. */
const MOST_TRIES = 4;
/** Seconds before the second try; doubled for each one after it. */
const BACKOFF_SECONDS = 0.5;
/** A server may ask for a wait of so many seconds; a longer one is the user's to decide on. */
const MOST_RETRY_AFTER = 30;
/** Bytes with which a try that was cut was worth it: a link that breaks every few megabytes still gets there. */
const WORTH_BYTES = 2 ** 20;

/**
 * Why a try failed: the error to end with, whether another try may help, and the seconds the server asked for.
 * @typedef {{error: Error, passing: boolean, retryAfter?: number | null}} Failure
 */

export class Retries {
  #tries = 0;
  #waited = false;

  /** The next try is the last. */
  get last() {
    return this.#tries === MOST_TRIES - 1;
  }

  /**
   * Seconds until the next try; null to give up. A server's `Retry-After` is honoured once.
   * @param {Failure} failure
   * @param {number} gained bytes that the try brought
   */
  next({ passing, retryAfter }, gained) {
    if (gained >= WORTH_BYTES) this.#tries = 0;
    if (!passing || ++this.#tries >= MOST_TRIES) return null;
    if (retryAfter === null || retryAfter === undefined) return BACKOFF_SECONDS * 2 ** (this.#tries - 1);
    if (this.#waited || retryAfter > MOST_RETRY_AFTER) return null;
    this.#waited = true;
    return retryAfter;
  }
}

/**
 * @param {number} seconds
 * @param {AbortSignal} signal ends the wait
 * @returns {Promise<void>}
 */
export function pause(seconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, seconds * 1000);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
