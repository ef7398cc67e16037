/**
 * Sessions: one worker per ONNX Runtime session, reached by an integer handle. A worker that hangs, dies or is no
 * longer wanted is terminated, which gives all of its memory back.
 * @module
 */
import { tooLate } from "./deadline.js";
import { ShimError, fromFields } from "./shim_error.js";

/** @typedef {import("./protocol").SessionRequest} SessionRequest */
/** @typedef {import("./protocol").SessionAnswer} SessionAnswer */
/** @typedef {{resolve: (value: any) => void, reject: (error: Error) => void,
 *   timer: ReturnType<typeof setTimeout>}} Waiter */

/** `Omit` that keeps a union a union. @template T @typedef {T extends unknown ? Omit<T, "id"> : never} WithoutId */

class SessionWorker {
  /** @param {string} url */
  constructor(url) {
    /** @type {Map<number, Waiter>} */
    this.waiting = new Map();
    this.next = 1;
    /** Why the worker is gone; "" while it lives. */
    this.dead = "";
    this.worker = new Worker(url, { type: "module", name: "edgeinfer-session" });
    this.worker.onmessage = ({ data }) => this.#answer(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.end(`The session worker ${url} died: ${event.message ?? "its script could not be loaded"}.`);
    };
  }

  /**
   * @param {WithoutId<SessionRequest>} request
   * @param {number} seconds that the answer may take
   * @param {string} step what is being done, for the message
   * @param {Transferable[]} [transfer]
   * @returns {Promise<any>}
   */
  ask(request, seconds, step, transfer = []) {
    if (this.dead) return Promise.reject(new ShimError("SessionError", this.dead));
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(tooLate(step, seconds));
      }, seconds * 1000);
      this.waiting.set(id, { resolve, reject, timer });
      this.worker.postMessage({ ...request, id }, transfer);
    });
  }

  /** @param {SessionAnswer} answer */
  #answer({ id, error, value }) {
    const waiter = this.waiting.get(id);
    if (!waiter) return; // its time was over
    this.waiting.delete(id);
    clearTimeout(waiter.timer);
    if (error) waiter.reject(fromFields(error));
    else waiter.resolve(value);
  }

  /** @param {string} reason */
  end(reason) {
    this.worker.terminate();
    this.dead ||= reason;
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new ShimError("SessionError", reason));
    }
    this.waiting.clear();
  }
}

export class Sessions {
  /** @param {string} workerUrl */
  constructor(workerUrl) {
    this.workerUrl = workerUrl;
    /** @type {Map<number, SessionWorker>} */
    this.workers = new Map();
    this.next = 1;
  }

  /**
   * Start a worker with one session. On any failure the worker is gone when this rejects.
   * @param {WithoutId<Extract<SessionRequest, {type: "create"}>>} request
   * @param {number} seconds
   * @param {AbortSignal} signal
   */
  async create(request, seconds, signal) {
    const worker = new SessionWorker(this.workerUrl);
    signal.addEventListener("abort", () => worker.end("Loading was cancelled."), { once: true });
    try {
      const made = await worker.ask(request, seconds, `Creating the ${request.executionProvider} session`);
      const session = this.next++;
      this.workers.set(session, worker);
      return { session, ...made };
    } catch (error) {
      worker.end("The session could not be created.");
      throw error;
    }
  }

  /**
   * @param {number} session
   * @param {WithoutId<Extract<SessionRequest, {type: "run" | "time"}>>} request
   * @param {number} seconds
   */
  async ask(session, request, seconds) {
    const worker = this.workers.get(session);
    if (!worker) throw new ShimError("SessionError", `Session ${session} was released.`, { session });
    return worker.ask(request, seconds, "The run", [request.payload.buffer]);
  }

  /** @param {number} session */
  release(session) {
    this.workers.get(session)?.end(`Session ${session} was released.`);
    this.workers.delete(session);
  }
}
