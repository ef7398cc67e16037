/**
 * Deadlines: nothing in the shim waits for ever.
 * @module
 */
import { ShimError } from "./shim_error.js";

/**
 * The promise's outcome, or a DeadlineError after `seconds`.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} seconds
 * @param {string} step what is being done, for the message
 * @returns {Promise<T>}
 */
export function within(promise, seconds, step) {
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(tooLate(step, seconds)), seconds * 1000);
  });
  return Promise.race([promise, /** @type {Promise<never>} */ (late)]).finally(() => clearTimeout(timer));
}

/**
 * @param {string} step
 * @param {number} seconds
 */
export function tooLate(step, seconds) {
  return new ShimError("DeadlineError", `${step} took longer than ${seconds} s.`, { step, seconds });
}
