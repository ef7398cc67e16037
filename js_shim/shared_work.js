/**
 * Work that several callers wait for: done once, told to all, and given up when the last of them has left.
 * @module
 */

/** @typedef {import("./protocol").OnProgress} OnProgress */

/** @template T */
export class SharedWork {
  /** @type {Map<string, Work<T>>} */
  #running = new Map();

  /**
   * The outcome of the work under this key, begun now or already under way. A caller whose signal aborts leaves at
   * once with its reason; the last to leave aborts the work and gets the work's own last word.
   * @param {string} key
   * @param {AbortSignal} signal
   * @param {OnProgress} onProgress
   * @param {(signal: AbortSignal, onProgress: OnProgress) => Promise<T>} begin
   * @returns {Promise<T>}
   */
  join(key, signal, onProgress, begin) {
    const work = this.#running.get(key) ?? this.#begin(key, begin);
    return work.join(signal, onProgress);
  }

  /**
   * @param {string} key
   * @param {(signal: AbortSignal, onProgress: OnProgress) => Promise<T>} begin
   */
  #begin(key, begin) {
    const forget = () => this.#running.get(key) === work && this.#running.delete(key);
    /** @type {Work<T>} */
    const work = new Work(begin, forget);
    this.#running.set(key, work);
    return work;
  }
}

/** @template T */
class Work {
  #controller = new AbortController();
  /** @type {Set<OnProgress>} */
  #callers = new Set();

  /**
   * @param {(signal: AbortSignal, onProgress: OnProgress) => Promise<T>} begin
   * @param {() => unknown} forget whoever comes from now on must begin anew
   */
  constructor(begin, forget) {
    this.forget = forget;
    const tell = (/** @type {number} */ loaded, /** @type {number} */ total) => {
      for (const onProgress of this.#callers) onProgress(loaded, total);
    };
    this.outcome = begin(this.#controller.signal, tell).finally(forget);
  }

  /**
   * @param {AbortSignal} signal
   * @param {OnProgress} onProgress
   * @returns {Promise<T>}
   */
  join(signal, onProgress) {
    const caller = (/** @type {number} */ loaded, /** @type {number} */ total) => onProgress(loaded, total);
    this.#callers.add(caller);
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#callers.delete(caller);
        if (this.#callers.size) return reject(signal.reason);
        this.forget();
        this.#controller.abort(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.outcome.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }
}
