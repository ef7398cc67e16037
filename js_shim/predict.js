/**
 * The thin path: the text itself to the API's `/predict`, without Python and without a model. The same bounded retries
 * as `edgeinfer_browser/backends/remote.py`.
 * @module
 */
import { isAnswer } from "./answers.js";
import { tooLate } from "./deadline.js";
import { ShimError } from "./shim_error.js";

const REQUEST_SECONDS = 30;
const RETRIED = new Set([429, 502, 503, 504]);
/** Milliseconds before the second and the third try; null: there is no further one. @type {(number | null)[]} */
const PAUSES = [250, 1000, null];
const LONGEST_WAIT = 30_000;

/** Texts in one request: a long list must not run into the server's limits or the request's deadline. */
const TEXTS_PER_REQUEST = 256;

/**
 * @typedef {object} Call
 * @property {string} api base URL of the API
 * @property {string} model URL of the model folder; its last part is the model's name there
 * @property {string} [task] what is wanted of it; the server's default is what the model was packed for
 * @property {import("./answers.js").Kind} [kind] what must come back (the default is labels)
 * @property {unknown} inputs a text or a list of texts; the server says what is wrong with anything else
 * @property {Record<string, unknown>} [parameters] by the names that `/predict` has
 * @property {AbortSignal} [signal]
 * @property {(dtype: string | null) => void} [onDtype] told which dtype the server ran
 */

/**
 * @param {Call} call
 * @returns {Promise<any>} what one text gives, or a list of that
 */
export async function predict(call) {
  const { inputs } = call;
  if (!Array.isArray(inputs) || inputs.length <= TEXTS_PER_REQUEST) return predictOnce(call);
  const results = [];
  for (let at = 0; at < inputs.length; at += TEXTS_PER_REQUEST) {
    results.push(...(await predictOnce({ ...call, inputs: inputs.slice(at, at + TEXTS_PER_REQUEST) })));
  }
  return results;
}

/** @param {Call} call */
async function predictOnce(call) {
  const { api, model, task, inputs, parameters = {}, signal } = call;
  const url = new URL("predict", new URL(api.endsWith("/") ? api : `${api}/`, location.href)).href;
  const body = JSON.stringify({ model: modelName(model), task, inputs, parameters });
  for (const pause of PAUSES) {
    try {
      return await post(url, body, call);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      await pauseAfter(error, pause);
    }
  }
  throw new Error("the last try has no pause, so it returns or throws");
}

/** @param {string} model URL of the model folder */
export function modelName(model) {
  return new URL(model, location.href).pathname.replace(/\/+$/, "").split("/").at(-1) ?? "";
}

/**
 * Wait before the next try, or throw the error on when there is none or it would not help.
 * @param {unknown} error
 * @param {number | null} pause milliseconds at the least
 */
async function pauseAfter(error, pause) {
  if (!(error instanceof ShimError) || !mayRetry(error) || pause === null) throw error;
  const wait = Math.max(pause, 1000 * Number(error.details.retry_after ?? 0));
  if (wait > LONGEST_WAIT) throw error;
  await new Promise((resolve) => setTimeout(resolve, wait));
}

/** @param {ShimError} error */
function mayRetry({ name, details }) {
  return name !== "DeadlineError" && (details.status === undefined || RETRIED.has(Number(details.status)));
}

/**
 * @param {string} url
 * @param {string} body
 * @param {Call} call
 */
async function post(url, body, { signal: outer, onDtype, inputs, kind = "labels" }) {
  const late = AbortSignal.timeout(REQUEST_SECONDS * 1000);
  const signal = outer ? AbortSignal.any([outer, late]) : late;
  let response;
  let text;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      signal,
    });
    text = await response.text();
  } catch (error) {
    if (late.aborted) throw tooLate(`The request to ${url}`, REQUEST_SECONDS);
    const why = `${url} gave no answer (${error}). Check that it is up, the URL is right and CORS allows this page.`;
    throw new ShimError("RemoteError", why, { url });
  }
  const answer = parse(text);
  if (response.ok && isAnswer(answer, kind, Array.isArray(inputs))) {
    onDtype?.(response.headers.get("edgeinfer-dtype"));
    return answer;
  }
  throw refusal(url, response, answer, kind);
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Seconds in a `Retry-After` header: a number, or an HTTP date; null when it is neither.
 * @param {string} header
 */
function retryAfter(header) {
  if (/^\d+$/.test(header)) return Number(header);
  const until = header.endsWith("GMT") ? Date.parse(header) : NaN;
  return Number.isNaN(until) ? null : Math.max(0, (until - Date.now()) / 1000);
}

/**
 * @param {string} url
 * @param {Response} response
 * @param {any} answer
 * @param {string} kind
 */
function refusal(url, response, answer, kind) {
  const { status } = response;
  const said = typeof answer?.error === "string" ? `: ${answer.error}` : ".";
  const details = { url, status, retry_after: retryAfter(response.headers.get("retry-after") ?? "") };
  if (status === 429)
    return new ShimError("RateLimitedError", `${url} answered 429 (too many requests)${said}`, details);
  if (status === 422 || status === 413)
    return new ShimError("InputError", said.slice(2) || `${url} answered ${status}.`, details);
  if (status === 200) {
    const why = `${url} answered 200, but not with ${kind}. Check that the API base URL points at "edgeinfer serve".`;
    return new ShimError("RemoteError", why, details);
  }
  return new ShimError("RemoteError", `${url} answered ${status}${said}`, details);
}
