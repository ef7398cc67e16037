/**
 * What a server answered in place of the file, told by name: refusals by their status, and pages, error bodies and
 * pointers that come with a 200.
 * @module
 */
import { ShimError } from "./shim_error.js";

/** Bytes from which an answer's kind can be told. */
export const HEAD_BYTES = 512;

/** Statuses that another try may cure. */
const PASSING = new Set([408, 425, 500, 502, 503, 504]);

/** @type {[number[], string, string][]} statuses, class of errors.py, what is wrong and what next */
const REFUSALS = [
  [[404, 410], "NotFoundError", "was not found. Check the model's URL"],
  [
    [401],
    "AccessDeniedError",
    "needs a sign-in. Use a model folder that is public, or of this page's own site",
  ],
  [
    [403],
    "AccessDeniedError",
    "is forbidden to this page. Check the file's permissions, or that it is there at all",
  ],
  [
    [429],
    "TooManyRequestsError",
    "is refused for now: too many requests. Wait, or serve the model from your own site",
  ],
];

/** @param {number} status */
export const isPassing = (status) => PASSING.has(status) || status === 429;

/**
 * @param {Response} response
 * @param {string} url as it was asked for
 * @returns {ShimError | null} null for an answer that has the file, or a part of it, in it
 */
export function refusal(response, url) {
  const { ok, status, headers } = response;
  if (ok) return null;
  const details = { url: response.url || url, status };
  const [, name, what] = REFUSALS.find(([statuses]) => statuses.includes(status)) ?? [];
  if (name === "TooManyRequestsError") Object.assign(details, { retry_after: retryAfter(headers) });
  if (name) return new ShimError(name, `${details.url} ${what} (${status}).`, details);
  if (status < 500) return new ShimError("FetchError", `${details.url} answered ${status}.`, details);
  const why = `${details.url} answered ${status}: the server failed. Try again later, or look at the server's log.`;
  return new ShimError("ServerError", why, details);
}

/**
 * Seconds that a `Retry-After` header asks for (it may also be a date), or null.
 * @param {Headers} headers
 */
export function retryAfter(headers) {
  const value = headers.get("retry-after");
  if (value === null) return null;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

/**
 * @param {Response} response
 * @param {string} url
 * @param {Blob} head the first bytes; all of them when there are fewer than {@link HEAD_BYTES}
 * @returns {Promise<ShimError | null>} null for what may be the file
 */
export async function impostor(response, url, head) {
  const where = response.url || url;
  const text = (await head.text()).trimStart();
  const blank = !text && head.size < HEAD_BYTES;
  const path = new URL(where, "https://relative.invalid/").pathname;
  const what = blank ? "is empty. Copy the model again." : whatItIs(text, path, response);
  return what ? new ShimError("ContentError", `${where} ${what}`, { url: where }) : null;
}

/**
 * @param {string} text
 * @param {string} path
 * @param {Response} response
 */
function whatItIs(text, path, { status, headers }) {
  const start = text.slice(0, 64).toLowerCase();
  if (start.startsWith("<!doctype") || start.startsWith("<html")) {
    const hint = "hosts of single-page apps answer so when there is no such file.";
    return `answered ${status} with an HTML page instead of the file. Check the path; ${hint}`;
  }
  if (start.startsWith("version https://git-lfs")) {
    return 'is a Git-LFS pointer, not the file. Run "git lfs pull" where the model is served from.';
  }
  if (isJson(start, path, headers)) {
    const said = text.replace(/\s+/g, " ").slice(0, 120);
    return `answered ${status} with JSON instead of the file: ${said} Check the URL, and what the server says.`;
  }
  return "";
}

/**
 * An error's JSON in place of a model. An .onnx file never begins so; other files only count when the server says so.
 * @param {string} start
 * @param {string} path
 * @param {Headers} headers
 */
function isJson(start, path, headers) {
  if (!/^[[{]/.test(start) || path.endsWith(".json")) return false;
  return path.endsWith(".onnx") || /\bjson\b/.test(headers.get("content-type") ?? "");
}
