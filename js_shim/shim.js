/**
 * The shim: the one object that Python is given. Each method takes JSON and bytes, answers {@link Reply} and never
 * rejects; it does what it is told and decides nothing.
 * @module
 */
import { tooLate } from "./deadline.js";
import { Files } from "./files.js";
import { forgetOldRevisions } from "./model_cache.js";
import { recall, remember } from "./notes.js";
import { persist } from "./persistence.js";
import { probe } from "./probe.js";
import { Sessions } from "./sessions.js";
import { ShimError, toFields } from "./shim_error.js";

/** @typedef {import("./protocol").Reply} Reply */
/** @typedef {import("./protocol").OnProgress} OnProgress */
/** @typedef {{json?: unknown, payload?: Uint8Array}} Outcome */
/** @typedef {(args: any, payload: Uint8Array, signal: AbortSignal, onProgress?: OnProgress) => Promise<Outcome>} Work */

/**
 * @param {string} configJson the JSON of {@link import("./protocol").ShimConfig}
 * @param {() => unknown} [onCommit] called when a model's file was cached; the default asks for persistent storage,
 *   which only a page can
 * @returns {import("./protocol").Shim}
 */
export function createShim(configJson, onCommit = persist) {
  /** @type {import("./protocol").ShimConfig} */
  const config = JSON.parse(configJson);
  const files = new Files({ onCommit });
  const sessions = new Sessions(config.sessionWorkerUrl);
  /** @type {Map<number, AbortController>} */
  const calls = new Map();
  const method = (/** @type {Work} */ work) => asMethod(work, calls);
  return {
    probe: method(async () => ({ json: await probe() })),
    runtimeUrl: method(async ({ wheel }) => ({ json: { url: runtimeUrl(config, wheel) } })),
    absoluteUrl: method(async ({ url }) => ({ json: { url: absoluteUrl(url) } })),
    fetchFile: method(async (file, _, signal) => {
      const { blob, notices } = await files.read(file, signal);
      return { json: { notices }, payload: new Uint8Array(await blob.arrayBuffer()) };
    }),
    fetchToCache: method(async (file, _, signal, onProgress) => ({
      json: await files.get(file, signal, onProgress),
    })),
    forgetOldRevisions: method(async ({ folder, current }) => ({
      json: { removed: await forgetOldRevisions(folder, current) },
    })),
    createSession: method(async ({ timeout, files: wanted, ...request }, _, signal) => ({
      json: await sessions.create(
        { type: "create", ...request, files: withBlobs(wanted, files) },
        timeout,
        signal,
      ),
    })),
    // The one that is called for every text: there is nothing to abort, a run goes on to its end.
    run: withReply(async ({ session, tensors, timeout }, payload) => {
      const outputs = await sessions.ask(session, { type: "run", tensors, payload }, timeout);
      return { json: outputs.tensors, payload: outputs.payload };
    }),
    timeSession: method(async ({ session, tensors, timeout, runs }, payload) => ({
      json: await sessions.ask(session, { type: "time", tensors, payload, runs }, timeout),
    })),
    release: method(async ({ session }) => {
      sessions.release(session);
      return {};
    }),
    request: method(request),
    recall: method(async ({ key }) => ({ json: { text: await recall(key) } })),
    remember: method(async ({ key, text }) => {
      await remember(key, text);
      return {};
    }),
    abort: (call) => calls.get(call)?.abort(),
  };
}

/**
 * A method that can be aborted by the number of its call.
 * @param {Work} work
 * @param {Map<number, AbortController>} calls
 * @returns {import("./protocol").ShimMethod}
 */
function asMethod(work, calls) {
  return async (json, payload, call = 0, onProgress) => {
    const controller = new AbortController();
    calls.set(call, controller);
    const reply = await withReply((args, bytes) => work(args, bytes, controller.signal, onProgress))(
      json,
      payload,
    );
    calls.delete(call);
    return reply;
  };
}

/**
 * The one shape of every answer; what is thrown is in it.
 * @param {(args: any, payload: Uint8Array) => Promise<Outcome>} work
 * @returns {import("./protocol").ShimMethod}
 */
function withReply(work) {
  return async (json, payload = new Uint8Array()) => {
    try {
      const outcome = await work(JSON.parse(json), payload);
      return {
        error: "",
        json: JSON.stringify(outcome.json ?? {}),
        payload: outcome.payload ?? new Uint8Array(),
      };
    } catch (error) {
      return { error: JSON.stringify(toFields(error)), json: "{}", payload: new Uint8Array() };
    }
  };
}

/**
 * @param {{path: string, key: string}[]} wanted
 * @param {Files} files
 */
function withBlobs(wanted, files) {
  return wanted.map(({ path, key }) => {
    const file = files.kept.get(key);
    if (!file)
      throw new ShimError("FetchError", `${key} was not fetched before the session was made.`, { url: key });
    return { path, blob: file.blob };
  });
}

/**
 * @param {import("./protocol").ShimConfig} config
 * @param {string} wheel URL the wheel was installed from, or ""
 */
function runtimeUrl(config, wheel) {
  const base = config.runtimeUrl ?? (wheel && new URL("./", wheel).href);
  if (base) return absoluteUrl(base);
  const what = "It is not known where the runtime files (ort/) are: the wheel was not installed from a URL. ";
  throw new ShimError("SessionError", `${what}Pass runtime="https://.../edgeinfer/" to pipeline().`);
}

/** A worker made from a Blob has no useful base of its own, so the origin serves. @param {string} url */
function absoluteUrl(url) {
  const { href, origin } = globalThis.location;
  const base = href.startsWith("blob:") ? origin : (globalThis.document?.baseURI ?? href);
  try {
    return new URL(url, base).href;
  } catch {
    throw new ShimError("InputError", `${JSON.stringify(url)} is not a URL (base ${base}).`, { url });
  }
}

/** @type {Work} */
async function request({ method, url, headers, timeout }, body, outer) {
  const late = AbortSignal.timeout(timeout * 1000);
  const signal = AbortSignal.any([outer, late]);
  try {
    const bytes = /** @type {Uint8Array<ArrayBuffer>} */ (body);
    const response = await fetch(url, { method, headers, signal, body: body.length ? bytes : undefined });
    const payload = new Uint8Array(await response.arrayBuffer());
    return { json: { status: response.status, headers: Object.fromEntries(response.headers) }, payload };
  } catch (error) {
    if (late.aborted) throw tooLate(`The request to ${url}`, timeout);
    const why = `${url} gave no answer (${error}). Check that it is up, the URL is right and CORS allows this page.`;
    throw new ShimError("RemoteError", why, { url });
  }
}
