/**
 * The page's end of the Python worker: one worker for all pipelines of the page, supervised. When it dies, whoever
 * waits is told, and the next request starts a new one.
 * @module
 */
import { persist } from "./persistence.js";
import { ShimError, fromFields } from "./shim_error.js";

/** @typedef {import("./protocol").PageRequest} PageRequest */
/** @typedef {import("./protocol").PageAnswer} PageAnswer */
/** @typedef {(progress: import("./protocol").Progress) => void} OnProgress */
/** @typedef {(metric: import("./protocol").InferenceMetric) => void} OnMetric */

export class PythonClient {
  /** @param {string} url the script of the Python worker */
  constructor(url) {
    this.url = url;
    /** Goes up with each new worker: a pipeline loaded in an earlier one must be loaded again. */
    this.generation = 0;
    /** @type {Worker | undefined} */
    this.worker = undefined;
    /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void, onMetric?: OnMetric}>} */
    this.waiting = new Map();
    /** Listeners by pipeline number. @type {Map<number, OnProgress>} */
    this.listeners = new Map();
    this.nextRequest = 1;
    this.nextPipeline = 1;
    /** Whether the browser promised not to evict what is stored; null until it was asked. @type {boolean | null} */
    this.persisted = null;
  }

  /**
   * @param {PageRequest["method"]} method
   * @param {Record<string, unknown>} params
   * @param {OnMetric} [onMetric] told of the call's metric before the promise settles
   * @returns {Promise<any>}
   */
  ask(method, params, onMetric) {
    const worker = (this.worker ??= this.#start());
    const id = this.nextRequest++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, onMetric });
      worker.postMessage({ id, method, params });
    });
  }

  #start() {
    this.generation++;
    const worker = new Worker(this.url, { type: "module", name: "edgeinfer-python" });
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.end(`The Python worker ${this.url} died: ${event.message ?? "its script could not be loaded"}.`);
    };
    return worker;
  }

  /** @param {PageAnswer} answer */
  #receive({ id, result, error, event, metric, committed }) {
    if (committed) void persist().then((persisted) => (this.persisted = persisted));
    if (event) this.listeners.get(event.pipeline)?.(event.progress);
    if (id === undefined) return;
    const waiter = this.waiting.get(id);
    this.waiting.delete(id);
    if (metric) waiter?.onMetric?.(metric);
    if (error) waiter?.reject(fromFields(error));
    else waiter?.resolve(result);
  }

  /** @param {string} reason */
  end(reason) {
    this.worker?.terminate();
    this.worker = undefined;
    for (const { reject } of this.waiting.values()) reject(new ShimError("SessionError", reason));
    this.waiting.clear();
  }
}
