/**
 * ShimError: an error with a class name of `edgeinfer_browser/errors.py` and fields, so that it can be rebuilt there.
 * @module
 */

/** @typedef {import("./protocol").ErrorFields} ErrorFields */

export class ShimError extends Error {
  /**
   * @param {string} name a class of `edgeinfer_browser/errors.py`
   * @param {string} message what happened, why, and what next
   * @param {Record<string, unknown>} [details] the fields, JSON values
   */
  constructor(name, message, details = {}) {
    super(message);
    this.name = name;
    this.details = details;
  }
}

/**
 * Any thrown value as fields that survive JSON and postMessage.
 * @param {unknown} thrown
 * @param {string} [fallbackName] the class for what is not a ShimError
 * @returns {ErrorFields}
 */
export function toFields(thrown, fallbackName = "EdgeInferError") {
  if (thrown instanceof ShimError)
    return { name: thrown.name, message: thrown.message, details: thrown.details };
  const error = /** @type {{name?: string, message?: string}} */ (thrown ?? {});
  const cause = [error.name, error.message ?? String(thrown)].filter(Boolean).join(": ");
  return { name: fallbackName, message: cause, details: {} };
}

/**
 * The other direction, for errors that came by postMessage.
 * @param {ErrorFields} fields
 */
export function fromFields(fields) {
  return new ShimError(fields.name, fields.message, fields.details);
}
