/**
 * What a call may be given beside its texts, by the names that `/predict` has for it, and what may come back.
 * @module
 */
import { ShimError } from "./shim_error.js";

/** Call option -> parameter of `/predict`. @type {Map<string, string>} */
const PARAMETERS = new Map([
  ["topK", "top_k"],
  ["head", "head"],
  ["pooling", "pooling"],
  ["normalize", "normalize"],
]);

/** @typedef {"labels" | "embeddings" | "heads"} Kind */

/**
 * @param {Record<string, unknown>} options undefined ones are left out
 * @returns {Record<string, unknown>}
 */
export function parameters(options) {
  /** @type {Record<string, unknown>} */
  const named = {};
  for (const [name, value] of Object.entries(options)) {
    const parameter = PARAMETERS.get(name);
    if (!parameter) {
      const known = [...PARAMETERS.keys()];
      const why = `Unknown option ${JSON.stringify(name)}. Known: ${known.join(", ")}.`;
      throw new ShimError("UnknownNameError", why, { kind: "option", name, known });
    }
    if (value !== undefined) named[parameter] = value;
  }
  return named;
}

/** What one text gives, of each kind. @type {Record<Kind, (item: any) => boolean>} */
const ONE = {
  labels: (item) => Array.isArray(item) && item.every((label) => typeof label?.label === "string"),
  embeddings: isVector,
  heads: (item) => item?.heads instanceof Object,
};

/**
 * Whether an answer is what was asked for.
 * @param {any} answer
 * @param {Kind} kind
 * @param {boolean} isList several texts were given
 */
export function isAnswer(answer, kind, isList) {
  return isList ? Array.isArray(answer) && answer.every(ONE[kind]) : ONE[kind](answer);
}

/**
 * Numbers, or (pooling "none") a list of numbers for each token.
 * @param {any} item
 * @returns {boolean}
 */
function isVector(item) {
  return Array.isArray(item) && item.every((value) => typeof value === "number" || isVector(value));
}
