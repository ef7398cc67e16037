/**
 * Download: a file over HTTP, in as many connections as it takes; each goes on where the last one broke off, where the
 * server allows it. Nothing here trusts the bytes: verifying them comes after.
 * @module
 */
import { HEAD_BYTES, impostor, isPassing, refusal, retryAfter } from "./answer_check.js";
import { isForeign, rangeHeaders, validatorOf, wrongRange } from "./byte_range.js";
import { tooLate } from "./deadline.js";
import { Retries } from "./retries.js";
import { ShimError } from "./shim_error.js";
import { StallTimer } from "./stall_timer.js";

/** @typedef {import("./protocol").FileSpec} FileSpec */
/** @typedef {import("./received.js").Received} Received */
/** @typedef {import("./retries.js").Failure} Failure */

/**
 * @typedef {object} DownloadOptions
 * @property {RequestCache} cache
 * @property {AbortSignal} signal
 * @property {import("./protocol").OnProgress} onProgress
 * @property {(seconds: number, signal: AbortSignal) => Promise<void>} pause
 */

const PROGRESS_MS = 100;

/**
 * All of the file, put together; what came of it is kept when it fails.
 * @param {FileSpec} file
 * @param {Received} received what is there already
 * @param {DownloadOptions} options
 * @returns {Promise<Blob>}
 */
export async function download(file, received, options) {
  const retries = new Retries();
  try {
    while (!file.bytes || received.size < file.bytes) {
      const before = received.size;
      const failure = await attempt(file, received, options, retries.last);
      if (!failure) break;
      const seconds = retries.next(failure, received.size - before);
      if (seconds === null) throw failure.error;
      await options.pause(seconds, options.signal);
    }
    return received.blob();
  } catch (error) {
    await received.keep();
    throw error;
  }
}

/**
 * One connection.
 * @param {FileSpec} file
 * @param {Received} received
 * @param {DownloadOptions} options
 * @param {boolean} last
 * @returns {Promise<Failure | null>} null when the body came to its end
 */
async function attempt(file, received, options, last) {
  const stall = new StallTimer(file.timeout);
  const signal = AbortSignal.any([options.signal, stall.signal]);
  // A host that does not allow Range from other origins answers nothing at all: the last try goes without.
  const headers = last && isForeign(file.url) ? null : rangeHeaders(file, received);
  try {
    const response = await fetch(
      file.url,
      headers ? { signal, headers, cache: "no-store" } : { signal, cache: options.cache },
    );
    const failure = await accept(response, file, received);
    if (!failure) await readBody(response, file, received, stall, options.onProgress);
    else void response.body?.cancel().catch(() => {}); // its connection may be gone, and nobody needs it
    return failure;
  } catch (error) {
    if (error instanceof ShimError) throw error;
    if (options.signal.aborted) throw cancelled(file.url);
    if (stall.signal.aborted) throw tooLate(`Fetching ${file.url} (waiting for more bytes)`, file.timeout);
    return broken(file, received, error);
  } finally {
    stall.stop();
  }
}

/**
 * Whether the body of an answer goes on where we are, or begins anew. A refusal is a failure.
 * @param {Response} response
 * @param {FileSpec} file
 * @param {Received} received
 * @returns {Promise<Failure | null>}
 */
async function accept(response, file, received) {
  const error = refusal(response, file.url);
  // 416: there is no such range, so what we have is of another version of the file.
  if (response.status === 416 && received.size) {
    await received.restart();
    return { error: /** @type {ShimError} */ (error), passing: true };
  }
  if (error) return { error, passing: isPassing(response.status), retryAfter: retryAfter(response.headers) };
  const wrong = response.status === 206 && wrongRange(response, file, received);
  if (response.status === 206 && !wrong) return null;
  await received.restart();
  received.validator = validatorOf(response);
  if (!wrong) return null;
  const why = `${file.url} answered 206 (a part), but ${wrong}. Check the server or proxy.`;
  return { error: new ShimError("FetchError", why, { url: file.url, status: 206 }), passing: true };
}

/**
 * @param {Response} response
 * @param {FileSpec} file
 * @param {Received} received
 * @param {StallTimer} stall
 * @param {import("./protocol").OnProgress} onProgress
 */
async function readBody(response, file, received, stall, onProgress) {
  const total = file.bytes || received.size + announced(response.headers);
  let checked = received.size > 0;
  let told = 0;
  for (const reader = response.body?.getReader(); reader;) {
    const { done, value } = await reader.read();
    if (done) break;
    stall.restart();
    received.add(value);
    if (!checked && received.size >= HEAD_BYTES) checked = await checkHead(response, file, received);
    if (Date.now() - told > PROGRESS_MS) onProgress(received.size, (told = Date.now()) && total);
    if (file.bytes && received.size > file.bytes) return reader.cancel(); // another file; no need for the rest
  }
  if (!checked) await checkHead(response, file, received);
}

/**
 * @param {Response} response
 * @param {FileSpec} file
 * @param {Received} received
 */
async function checkHead(response, file, received) {
  const wrong = await impostor(response, file.url, received.blob().slice(0, HEAD_BYTES));
  if (!wrong) return true;
  await received.restart();
  throw wrong;
}

/** Bytes of the body; 0 when not known: with an encoding, the length is that of what was encoded. @param {Headers} headers */
const announced = (headers) =>
  headers.get("content-encoding") ? 0 : Number(headers.get("content-length")) || 0;

/**
 * A connection that was cut may be taken up again; one that never came about says that the URL, CORS or the network
 * is wrong.
 * @param {FileSpec} file
 * @param {Received} received
 * @param {unknown} error
 * @returns {Failure}
 */
function broken({ url }, { size }, error) {
  const what = size ? `broke off after ${size} bytes` : "could not be fetched";
  const why = `${url} ${what} (${error}). Check the connection, the URL and CORS.`;
  return { error: new ShimError("FetchError", why, { url }), passing: size > 0 };
}

/** @param {string} url */
export const cancelled = (url) => new ShimError("FetchError", `Fetching ${url} was cancelled.`, { url });
