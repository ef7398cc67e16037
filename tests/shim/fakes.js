/** Doubles of what browsers have and Node has not: fetch with scripted answers, caches, Worker, location. */

/**
 * Put globals in place for one test.
 * @param {import("node:test").TestContext} context
 * @param {Record<string, unknown>} values
 */
export function withGlobals(context, values) {
  for (const [name, value] of Object.entries(values)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    context.after(() => {
      if (before) Object.defineProperty(globalThis, name, before);
      else Reflect.deleteProperty(globalThis, name);
    });
  }
}

/**
 * A response as fetch gives it: with a URL.
 * @param {string} url
 * @param {BodyInit | null} body
 * @param {ResponseInit} [init]
 */
export function answer(url, body, init) {
  return Object.defineProperty(new Response(body, init), "url", { value: url });
}

/**
 * A fetch that plays its answers in order, the last one for ever; an Error is thrown.
 * @param {import("node:test").TestContext} context
 * @param {...((url: string, init: RequestInit) => Response | Promise<Response> | Error)} answers
 */
export function fakeFetch(context, ...answers) {
  /** @type {{url: string, init: RequestInit}[]} */
  const calls = [];
  const fetch = async (/** @type {string} */ url, /** @type {RequestInit} */ init) => {
    const outcome = await answers[Math.min(calls.length, answers.length - 1)](url, init);
    calls.push({ url, init });
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  withGlobals(context, { fetch });
  return calls;
}

/** The Cache API, in a Map. */
export class FakeCaches {
  /** @type {Map<string, Blob>} */
  entries = new Map();

  async open() {
    const entries = this.entries;
    const normal = (/** @type {string} */ url) => new URL(url).href;
    return {
      match: async (/** @type {string} */ url) => {
        const blob = entries.get(normal(url));
        return blob && new Response(blob);
      },
      put: async (/** @type {string} */ url, /** @type {Response} */ response) => {
        entries.set(normal(url), await response.blob());
      },
      delete: async (/** @type {string | {url: string}} */ url) =>
        entries.delete(typeof url === "string" ? normal(url) : url.url),
      keys: async (/** @type {string} */ url) =>
        [...entries.keys()]
          .filter((key) => key.split("?")[0] === normal(url).split("?")[0])
          .map((key) => ({ url: key })),
    };
  }
}

/** A Worker that answers with what the test tells it. */
export class FakeWorker {
  /** @type {FakeWorker[]} */
  static made = [];
  /** What each new worker does with a request. @type {(worker: FakeWorker, request: any) => void} */
  static behave = () => {};

  /** @type {any[]} */
  requests = [];
  terminated = false;
  /** @type {(event: {data: any}) => void} */
  onmessage = () => {};
  /** @type {(event: {preventDefault: () => void, message?: string}) => void} */
  onerror = () => {};

  /** @param {string} url */
  constructor(url) {
    this.url = url;
    FakeWorker.made.push(this);
  }

  /** @param {any} request */
  postMessage(request) {
    this.requests.push(request);
    queueMicrotask(() => FakeWorker.behave(this, request));
  }

  /** @param {any} data */
  answer(data) {
    if (!this.terminated) this.onmessage({ data });
  }

  /** @param {string} message */
  die(message) {
    this.onerror({ preventDefault: () => {}, message });
  }

  terminate() {
    this.terminated = true;
  }
}

/**
 * Workers that behave so, for one test.
 * @param {import("node:test").TestContext} context
 * @param {(worker: FakeWorker, request: any) => void} behave
 */
export function fakeWorkers(context, behave) {
  FakeWorker.made = [];
  FakeWorker.behave = behave;
  withGlobals(context, { Worker: FakeWorker });
  return FakeWorker.made;
}

/** A signal that is never aborted. */
export const noSignal = () => new AbortController().signal;
