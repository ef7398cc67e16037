/**
 * Byte ranges: asking for the rest of a file, and whether what comes is that (RFC 9110, sections 13.1.5 and 14).
 * @module
 */

/** @typedef {import("./protocol").FileSpec} FileSpec */
/** @typedef {import("./received.js").Received} Received */

/**
 * Headers of a request for what is missing; null when the whole file must be asked for: nothing is there yet, or
 * nobody could tell whether the rest belongs to it.
 * @param {FileSpec} file
 * @param {Received} received
 * @returns {Record<string, string> | null}
 */
export function rangeHeaders(file, { size, validator }) {
  if (!size || !(file.sha256 || isStrong(validator))) return null;
  const range = `bytes=${size}-`;
  // Range alone needs no CORS preflight. Another origin's version cannot be told, so there the sha256 decides.
  if (isForeign(file.url)) return file.sha256 ? { Range: range } : null;
  return validator ? { Range: range, "If-Range": validator } : { Range: range };
}

/**
 * The version of the file that an answer is of: its ETag when that names the very bytes, else its date.
 * @param {Response} response
 */
export function validatorOf({ headers }) {
  const etag = headers.get("etag") ?? "";
  return isStrong(etag) ? etag : (headers.get("last-modified") ?? "");
}

/**
 * What is wrong with a 206, or "": it must go on where we are, in the file that we have the beginning of.
 * @param {Response} response
 * @param {FileSpec} file
 * @param {Received} received
 */
export function wrongRange(response, file, { size, validator }) {
  if (!size) return "it is a part, and the whole was asked for";
  const told = response.headers.get("content-range");
  if (told === null && isForeign(file.url)) return ""; // not exposed to us; the sha256 decides
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(told ?? "") ?? [];
  if (Number(start) !== size) return `its Content-Range is ${told}, not from byte ${size}`;
  if (file.bytes && total !== "*" && Number(total) !== file.bytes)
    return `its Content-Range is ${told}, not of ${file.bytes} bytes`;
  const now = validatorOf(response);
  return now && validator && now !== validator ? `it is of version ${now}, not ${validator}` : "";
}

/** @param {string} validator */
const isStrong = (validator) => validator.startsWith('"');

/** @param {string} url */
export function isForeign(url) {
  const own = globalThis.location?.origin;
  return own !== undefined && new URL(url, own).origin !== own;
}
