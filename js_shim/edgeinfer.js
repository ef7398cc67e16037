/**
 * The page's client: `load()` gives a function that classifies, or that embeds. By import, or by a script tag, which puts
 * `edgeinfer.load` on the page.
 *
 *     const sentiment = await load({ task: "text-classification", model: "/models/sentiment/", api: "/api/" });
 *     await sentiment("I love it"); // [{ label: "positive", score: 0.99 }]
 * @module
 */
import { parameters } from "./answers.js";
import { within } from "./deadline.js";
import { remoteOnlyReason } from "./gate.js";
import { CallRecord, Metrics, meanTopScore } from "./metric.js";
import NAMES from "./names.json" with { type: "json" };
import { modelName, predict } from "./predict.js";
import { probeNetwork, probeWasm } from "./probe.js";
import { PythonClient } from "./python_client.js";
import { ShimError } from "./shim_error.js";

/** @typedef {import("./protocol").Label} Label */
/** @typedef {import("./protocol").AllHeads} AllHeads */
/** @typedef {import("./protocol").Progress} Progress */
/** @typedef {import("./protocol").InferenceMetric} InferenceMetric */

/**
 * @typedef {object} LoadOptions
 * @property {string} task `"text-classification"` or `"feature-extraction"`
 * @property {string} model URL of the model folder
 * @property {string} [api] base URL of the API tier; without it, local tiers only
 * @property {"prefer-local" | "only-local" | "prefer-remote" | "only-remote" | "fastest" | "strict"} [policy]
 * @property {"webgpu" | "wasm" | "api"} [tier] force one tier
 * @property {"fp32" | "fp16" | "q8" | "q4" | "q4f16"} [dtype] force one dtype
 * @property {string} [head] the classifier to ask, of a model that has several; the default is its first
 * @property {"wait" | "api"} [whileLoading] `"api"` answers from the API until the local tier is ready; the default
 *   sends no text anywhere
 * @property {(progress: Progress) => void} [onProgress]
 * @property {(metric: InferenceMetric) => unknown} [onMetric] told of every call as it ends
 * @property {string} [runtime] folder of this script's companions; the default is the folder this script is in
 */

/**
 * @typedef {object} Info
 * @property {string | null} tier the tier in use
 * @property {string | null} dtype its dtype
 * @property {{tier: string, dtype: string | null, ok: boolean, reason: string, seconds: number}[]} attempts
 * @property {Record<string, any> | null} capabilities null on the thin path: nothing was probed
 * @property {{tier: string, dtype: string | null, latency_ms: number, texts: number} | null} last the last call
 * @property {{kind: string, message: string}[]} [notices] what was given up to get the right answer all the same
 * @property {boolean | null} persisted whether the browser promised not to evict the model; null when not known
 * @property {string[]} [heads] the model's heads
 * @property {string[]} [notes] what is done otherwise than one might think, and why
 * @property {string} [error] why the local tier could not be loaded, when the API answers in its place
 */

/**
 * @typedef {object} CallOptions
 * @property {number | null} [topK] labels of each text, best first; null gives all (the default is 1)
 * @property {string} [head] the classifier to ask, in place of the one given to `load()`
 * @property {"mean" | "cls" | "none"} [pooling] of a plain folder whose graph does not pool
 * @property {boolean} [normalize] bring embeddings to length 1
 * @property {AbortSignal} [signal] gives the call up
 */

/**
 * What `load()` gives: called with a text or a list of texts, it gives `Label[]` (`"text-classification"`) or an
 * embedding, an array of numbers (`"feature-extraction"`); for a list an array of those.
 * @typedef {Pipeline & ((inputs: string | string[], options?: CallOptions) => Promise<any>)} Loaded
 */

/** Seconds that Pyodide may take to start: out of memory, it can hang instead of failing. */
const BOOT_SECONDS = 180;

/** One Python worker for each runtime folder. @type {Map<string, PythonClient>} */
const clients = new Map();

/**
 * @param {LoadOptions} options
 * @returns {Promise<Loaded>}
 */
export async function load(options) {
  const pipeline = new Pipeline(options);
  await pipeline.start();
  const call = (/** @type {any} */ inputs, /** @type {any} */ callOptions) =>
    pipeline.call(inputs, callOptions);
  return /** @type {any} */ (
    Object.defineProperties(call, {
      info: { get: () => pipeline.told },
      ready: { get: () => pipeline.ready },
      allHeads: {
        value: (/** @type {any} */ inputs, /** @type {any} */ callOptions) =>
          pipeline.allHeads(inputs, callOptions),
      },
      dispose: { value: () => pipeline.dispose() },
      bench: {
        value: (/** @type {string} */ text, /** @type {number} */ pairs) => pipeline.bench(text, pairs),
      },
    })
  );
}

class Pipeline {
  /** @type {Info} */
  info = { tier: null, dtype: null, attempts: [], capabilities: null, last: null, persisted: null };
  /** Settles when the local tier is ready (or cannot be). @type {Promise<void>} */
  ready = Promise.resolve();
  /** The Python worker this pipeline lives in; 0 while it is in none. */
  #generation = 0;
  /** The load that is under way, shared by all who wait for it. @type {Promise<void> | undefined} */
  #loading;
  #disposed = false;
  /** The API has answered the page itself before. */
  #predicted = false;

  /** @param {LoadOptions} options */
  constructor({ onProgress, onMetric, runtime, whileLoading = "wait", ...options }) {
    const base = new URL(runtime ?? "./", runtime ? location.href : import.meta.url);
    const url = new URL("python_worker.js", base).href;
    this.client = clients.get(url) ?? new PythonClient(url);
    clients.set(url, this.client);
    this.number = this.client.nextPipeline++;
    this.whileLoading = whileLoading;
    this.onProgress = onProgress ?? (() => {});
    this.metrics = new Metrics(onMetric, (notice) => this.onProgress({ stage: "notice", ...notice }));
    // Python and the API see absolute URLs: the worker's base is not the page's.
    const absolute = (/** @type {string | undefined} */ given) =>
      given && new URL(given, document.baseURI).href;
    this.options = { ...options, model: absolute(options.model) ?? "", api: absolute(options.api) };
    this.name = modelName(this.options.model);
    this.webassembly = probeWasm();
    const { saveData, online } = probeNetwork();
    const facts = { webassembly: this.webassembly.compiles, saveData, offline: online === false };
    /** Why the API answers all calls; null when Python decides. */
    this.remoteOnly = remoteOnlyReason(this.options, facts);
  }

  /** What `info` is: what Python or the thin path says, and what only the page knows. */
  get told() {
    const persisted = this.client.persisted ?? this.info.capabilities?.storage_persisted ?? null;
    return { ...this.info, persisted, notices: [...(this.info.notices ?? []), ...this.metrics.notices] };
  }

  async start() {
    this.#checkNames();
    if (this.remoteOnly) return this.#useApi(this.remoteOnly);
    this.#requireWebAssembly();
    this.client.listeners.set(this.number, (progress) => this.onProgress(progress));
    const loading = this.#loadLocal().catch((error) => {
      this.client.listeners.delete(this.number);
      throw error;
    });
    const mayLeave = this.options.api && !this.options.tier && this.options.policy !== "only-local";
    if (this.whileLoading !== "api" || !mayLeave) return loading;
    this.#useApi("The local tier is loading.");
    this.ready = loading.catch((error) => {
      this.info.error = `${error.name}: ${error.message}`;
    });
  }

  /** The thin path never comes to Python, which would notice a misspelt name. */
  #checkNames() {
    /** @type {Record<string, string | undefined>} */
    const all = { ...this.options, whileLoading: this.whileLoading };
    for (const [kind, names] of Object.entries(NAMES)) {
      const given = all[kind];
      if ((given === undefined && kind !== "task") || names.includes(given ?? "")) continue;
      const why = `Unknown ${kind} ${JSON.stringify(given)}. Known: ${names.join(", ")}.`;
      throw new ShimError("UnknownNameError", why, { kind, name: given, known: names });
    }
    const { policy, tier } = this.options;
    const ruledOut = tier && (tier === "api" ? policy === "only-local" : policy === "only-remote");
    if (!ruledOut) return;
    const why = `The policy ${JSON.stringify(policy)} rules out the tier ${JSON.stringify(tier)}.`;
    throw new ShimError("InputError", why, { policy, tier });
  }

  /** Pyodide is WebAssembly too: where that cannot be, neither a local tier nor Python can. */
  #requireWebAssembly() {
    if (this.webassembly.compiles) return;
    const reason = `WebAssembly cannot be used here. ${this.webassembly.error || "This browser has none."}`;
    const attempts = [{ tier: "wasm", dtype: null, ok: false, reason, seconds: 0 }];
    const why = `No tier gave an answer:\n  wasm: ${reason}\nGive an api to load(), and a policy that may use it.`;
    throw new ShimError("NoBackendError", why, { attempts });
  }

  /** @param {string} reason why no local tier is in use */
  #useApi(reason) {
    const refused = { tier: "local", dtype: null, ok: false, reason, seconds: 0 };
    const used = { tier: "api", dtype: null, ok: true, reason: "", seconds: 0 };
    this.info = { ...this.info, tier: "api", attempts: [refused, used] };
    this.onProgress({ stage: "ready", message: `api: ${reason}` });
  }

  #loadLocal() {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #load() {
    this.onProgress({ stage: "python", message: "Starting Python" });
    await this.#boot();
    const generation = this.client.generation;
    const { number: pipeline, options, metrics } = this;
    const { info } = await this.client.ask("load", { pipeline, options, metrics: metrics.open });
    this.info = info;
    this.#generation = generation;
    if (this.#disposed) await this.#release(); // while it was loading
  }

  async #boot() {
    const booting = this.client.ask("boot", {});
    try {
      await within(booting, BOOT_SECONDS, "Starting Python");
    } catch (error) {
      booting.catch(() => {}); // a worker that hangs is ended, and this is then its last word
      if (/** @type {Error} */ (error).name === "DeadlineError") this.client.end("Python did not start.");
      throw error;
    }
  }

  /**
   * @param {string | string[]} inputs
   * @param {CallOptions} [options]
   */
  call(inputs, options) {
    return this.#ask("call", inputs, options);
  }

  /**
   * What every head says of a text, and its embedding, from one run.
   * @param {string | string[]} inputs
   * @param {{topK?: number | null, signal?: AbortSignal}} [options] topK: labels of each head (the default is all)
   * @returns {Promise<any>} `AllHeads`, or for a list an array of those
   */
  allHeads(inputs, options) {
    return this.#ask("allHeads", inputs, options);
  }

  /**
   * One call, which leaves one metric however it ends.
   * @param {"call" | "allHeads"} method
   * @param {string | string[]} inputs
   * @param {CallOptions} [options]
   */
  async #ask(method, inputs, options = {}) {
    const record = new CallRecord(this.name, this.options.task, inputs);
    const leave = (/** @type {unknown} */ error) =>
      this.metrics.open && void this.metrics.put(record.metric(error));
    try {
      const result = await this.#answer(method, inputs, options, record);
      leave(undefined);
      return result;
    } catch (error) {
      leave(error);
      throw error;
    }
  }

  /**
   * @param {"call" | "allHeads"} method
   * @param {string | string[]} inputs
   * @param {CallOptions} options
   * @param {CallRecord} record
   */
  async #answer(method, inputs, { signal, ...options }, record) {
    if (this.#disposed) throw new ShimError("InputError", "This pipeline was disposed of. Load it again.");
    signal?.throwIfAborted();
    if (this.remoteOnly || !this.#generation)
      return this.#predict(method, inputs, { signal, ...options }, record);
    if (this.#generation !== this.client.generation) await this.#loadLocal(); // its worker died
    const params = { pipeline: this.number, inputs: jsonInput(inputs), options };
    const onMetric = (/** @type {InferenceMetric} */ metric) => (record.told = metric);
    const { result, info } = await unlessAborted(this.client.ask(method, params, onMetric), signal);
    this.info = { ...this.info, ...info };
    return result;
  }

  /**
   * @param {"call" | "allHeads"} method
   * @param {string | string[]} inputs
   * @param {CallOptions} options
   * @param {CallRecord} record
   */
  async #predict(method, inputs, { signal, ...options }, record) {
    const { model, task, head, api = "" } = this.options;
    const all = method === "allHeads";
    /** @type {import("./answers.js").Kind} */
    const kind = all ? "heads" : task === "feature-extraction" ? "embeddings" : "labels";
    const wanted = parameters(all ? options : { head, ...options });
    const started = performance.now();
    record.asks();
    /** @type {string | null} */
    let dtype = null;
    const onDtype = (/** @type {string | null} */ told) => (dtype = told);
    const asked = { api, model, task, kind, inputs: jsonInput(inputs), signal, onDtype };
    const result = await predict({ ...asked, parameters: all ? { ...wanted, all_heads: true } : wanted });
    const texts = Array.isArray(inputs) ? inputs.length : 1;
    this.info.last = { tier: "api", dtype, latency_ms: performance.now() - started, texts };
    const confidence = kind === "labels" ? meanTopScore(result, Array.isArray(inputs)) : null;
    record.answered(dtype, !this.#predicted, confidence);
    this.#predicted = true;
    if (this.info.tier === "api") this.info.dtype = dtype;
    return result;
  }

  /**
   * Paired timings for `edgeinfer bench latency` (`edgeinfer_browser/benchmark.py`).
   * @param {string} text
   * @param {number} pairs
   */
  bench(text, pairs) {
    return this.client.ask("bench", { pipeline: this.number, text, pairs });
  }

  async dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    this.client.listeners.delete(this.number);
    await this.#release();
  }

  async #release() {
    if (this.#generation && this.#generation === this.client.generation) {
      await this.client.ask("dispose", { pipeline: this.number });
    }
  }
}

/**
 * The promise's outcome, or the signal's reason as soon as it aborts. A run that has begun goes on to its end; nobody
 * waits for it any more, and the runs behind it are not disturbed.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Inputs cross as JSON. What JSON cannot say (undefined, bytes, NaN) is told here, by the name it has on the page.
 * @param {unknown} inputs
 */
function jsonInput(inputs) {
  const items = Array.isArray(inputs) ? inputs : [inputs];
  const wrong = items.findIndex((item) => typeof item !== "string");
  if (wrong < 0) return inputs;
  const item = items[wrong];
  const what =
    item === null ? "null" : typeof item === "object" ? (item.constructor?.name ?? "object") : typeof item;
  const where = Array.isArray(inputs) ? `Item ${wrong} of the list is ${what}` : `The input is ${what}`;
  throw new ShimError("InputError", `${where}. A pipeline takes a string or a list of strings.`, {
    index: wrong,
  });
}

/** @type {any} */ (globalThis).edgeinfer = { load };
