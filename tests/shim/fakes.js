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

/** The Cache API, in Maps: cache name -> URL -> what was put there. `full` and `broken` say what goes wrong. */
export class FakeCaches {
  /** @type {Map<string, Map<string, {blob: Blob, headers: [string, string][]}>>} */
  stores = new Map();
  /** Thrown by every write. @type {Error | null} */
  full = null;
  /** Writes that still go well before `full` counts. */
  room = 0;

  /** The whole files. */
  get files() {
    return this.store("edgeinfer-models-v1");
  }

  /** What is under way. */
  get segments() {
    return this.store("edgeinfer-downloads-v1");
  }

  /** @param {string} name */
  store(name) {
    const store = this.stores.get(name) ?? new Map();
    this.stores.set(name, store);
    return store;
  }

  /**
   * @param {string} url
   * @param {BlobPart} body
   */
  putFile(url, body) {
    this.files.set(new URL(url).href, { blob: new Blob([body]), headers: [] });
  }

  /** @param {string} name */
  async open(name) {
    const store = this.store(name);
    const href = (/** @type {string | {url: string}} */ at) =>
      typeof at === "string" ? new URL(at).href : at.url;
    return {
      match: async (/** @type {string | {url: string}} */ at) => {
        const kept = store.get(href(at));
        return kept && new Response(kept.blob, { headers: kept.headers });
      },
      put: async (/** @type {string} */ at, /** @type {Response} */ response) => {
        if (this.full && this.room-- <= 0) throw this.full;
        store.set(href(at), { blob: await response.blob(), headers: [...response.headers] });
      },
      delete: async (/** @type {string | {url: string}} */ at) => store.delete(href(at)),
      keys: async () => [...store.keys()].map((url) => ({ url })),
    };
  }
}

/** Web Locks, of one name at a time. */
export class FakeLocks {
  /** @type {Map<string, Promise<unknown>>} */
  held = new Map();

  /**
   * @param {string} name
   * @param {{signal: AbortSignal}} options
   * @param {() => Promise<unknown>} work
   */
  async request(name, { signal }, work) {
    const before = this.held.get(name) ?? Promise.resolve();
    const aborted = new Promise((_, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    aborted.catch(() => {});
    const mine = Promise.race([before.catch(() => {}), aborted]).then(work);
    this.held.set(name, Promise.all([before.catch(() => {}), mine]));
    this.held.get(name)?.catch(() => {});
    return mine;
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
