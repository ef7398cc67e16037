/**
 * The thin path: the text itself to the API's `/predict`, without Python and without a model. The same bounded retries
 * as `edgeinfer_browser/backends/remote.py`.
 * @module
 */
import { tooLate } from "./deadline.js";
import { ShimError } from "./shim_error.js";

const REQUEST_SECONDS = 30;
const RETRIED = new Set([429, 502, 503, 504]);
/** Milliseconds before the second and the third try; null: there is no further one. @type {(number | null)[]} */
const PAUSES = [250, 1000, null];
const LONGEST_WAIT = 30_000;

/** @typedef {import("./protocol").Label} Label */

/** Texts in one request: a long list must not run into the server's limits or the request's deadline. */
const TEXTS_PER_REQUEST = 256;

/**
 * @param {object} call
 * @param {string} call.api base URL of the API
 * @param {string} call.model URL of the model folder; its last part is the model's name there
 * @param {unknown} call.inputs a text or a list of texts; the server says what is wrong with anything else
 * @param {number | null} [call.topK]
 * @param {AbortSignal} [call.signal]
 * @param {(dtype: string | null) => void} [call.onDtype] told which dtype the server ran
 * @returns {Promise<Label[] | Label[][]>}
 */
export async function predict(call) {
  const { inputs } = call;
  if (!Array.isArray(inputs) || inputs.length <= TEXTS_PER_REQUEST) return predictOnce(call);
  const labels = [];
  for (let at = 0; at < inputs.length; at += TEXTS_PER_REQUEST) {
    const part = await predictOnce({ ...call, inputs: inputs.slice(at, at + TEXTS_PER_REQUEST) });
    labels.push(.../** @type {Label[][]} */ (part));
  }
  return labels;
}

/** @param {Parameters<typeof predict>[0]} call */
async function predictOnce({ api, model, inputs, topK, signal, onDtype }) {
  const url = new URL("predict", new URL(api.endsWith("/") ? api : `${api}/`, location.href)).href;
  const parameters = topK === undefined ? {} : { top_k: topK };
  const body = JSON.stringify({ model: modelName(model), inputs, parameters });
  for (const pause of PAUSES) {
    try {
      return await post(url, body, signal, onDtype);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      await pauseAfter(error, pause);
    }
  }
  throw new Error("the last try has no pause, so it returns or throws");
}

/** @param {string} model */
function modelName(model) {
  return new URL(model, location.href).pathname.replace(/\/+$/, "").split("/").at(-1);
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
 * @param {AbortSignal} [outer]
 * @param {(dtype: string | null) => void} [onDtype]
 */
async function post(url, body, outer, onDtype) {
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
  if (response.ok && isLabels(answer)) {
    onDtype?.(response.headers.get("edgeinfer-dtype"));
    return answer;
  }
  throw refusal(url, response, answer);
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
 * @param {any} answer
 * @returns {boolean}
 */
function isLabels(answer) {
  if (!Array.isArray(answer)) return false;
  return answer.every((item) => (Array.isArray(item) ? isLabels(item) : typeof item?.label === "string"));
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
 */
function refusal(url, response, answer) {
  const { status } = response;
  const said = typeof answer?.error === "string" ? `: ${answer.error}` : ".";
  const details = { url, status, retry_after: retryAfter(response.headers.get("retry-after") ?? "") };
  if (status === 429)
    return new ShimError("RateLimitedError", `${url} answered 429 (too many requests)${said}`, details);
  if (status === 422 || status === 413)
    return new ShimError("InputError", said.slice(2) || `${url} answered ${status}.`, details);
  if (status === 200) {
    const why = `${url} answered 200, but not with labels. Check that the API base URL points at "edgeinfer serve".`;
    return new ShimError("RemoteError", why, details);
  }
  return new ShimError("RemoteError", `${url} answered ${status}${said}`, details);
}
