/**
 * The page's side of metrics: one for each call, of the shape of `InferenceMetric` in
 * `edgeinfer_browser/telemetry/metric.py`. Python makes those of the calls that reach it; the thin path's, and those of
 * calls that failed on their way, are made here. No text is in them: errors are told by their class.
 * @module
 */

/** @typedef {import("./protocol").InferenceMetric} InferenceMetric */
/** @typedef {import("./protocol").Notice} Notice */

/** What the class of an error looks like; a page may throw anything, and abort with any reason. */
const CLASS_NAME = /^[A-Z][A-Za-z]{0,59}$/;

/** Hands metrics to the page's listener, until it throws. */
export class Metrics {
  /** @type {Notice[]} */
  notices = [];
  #onMetric;
  #onNotice;

  /**
   * @param {((metric: InferenceMetric) => unknown) | undefined} onMetric
   * @param {(notice: Notice) => void} onNotice
   */
  constructor(onMetric, onNotice) {
    this.#onMetric = onMetric;
    this.#onNotice = onNotice;
  }

  /** Whether anyone listens. */
  get open() {
    return Boolean(this.#onMetric);
  }

  /**
   * Never throws; a listener that returns a promise is not waited for by the call.
   * @param {InferenceMetric} metric
   */
  async put(metric) {
    try {
      await this.#onMetric?.(metric);
    } catch (error) {
      this.#drop(error);
    }
  }

  /** @param {unknown} error */
  #drop(error) {
    if (!this.#onMetric) return; // by an earlier metric of the same listener
    this.#onMetric = undefined;
    const message = `onMetric threw (${error}) and is called no more. Answers are not touched; mend it and load again.`;
    /** @type {Notice} */
    const notice = { kind: "metric_sink_dropped", message };
    this.notices = [notice];
    this.#onNotice(notice);
  }
}

/** One call while it is under way. */
export class CallRecord {
  /** Python's metric of the call, when it reached Python. @type {InferenceMetric | null} */
  told = null;
  #timestamp = Date.now() / 1000;
  #started = performance.now();
  /** When the API was asked. @type {number | null} */
  #asked = null;
  /** @type {{at: number, dtype: string | null, coldStart: boolean, confidence: number | null} | null} */
  #answer = null;

  /**
   * @param {string} model the model's name
   * @param {string} task
   * @param {unknown} inputs
   */
  constructor(model, task, inputs) {
    this.model = model;
    this.task = task === "sentiment-analysis" ? "text-classification" : task;
    this.items = Array.isArray(inputs) ? inputs.length : typeof inputs === "string" ? 1 : 0;
  }

  /** The page asks the API itself. */
  asks() {
    this.#asked = performance.now();
  }

  /**
   * The API answered.
   * @param {string | null} dtype that it ran
   * @param {boolean} coldStart it is the pipeline's first answer from there
   * @param {number | null} confidence
   */
  answered(dtype, coldStart, confidence) {
    this.#answer = { at: performance.now(), dtype, coldStart, confidence };
  }

  /**
   * The metric of the call, which ends now.
   * @param {unknown} [error] what it ended in
   * @returns {InferenceMetric}
   */
  metric(error) {
    const end = performance.now();
    return this.told ? withTrip(this.told, end - this.#started) : this.#own(end, error);
  }

  /**
   * @param {number} end
   * @param {unknown} error
   * @returns {InferenceMetric}
   */
  #own(end, error) {
    const answer = this.#answer;
    return {
      timestamp: this.#timestamp,
      model: this.model,
      revision: null,
      task: this.task,
      tier: answer && "api",
      dtype: answer && answer.dtype,
      latency_ms: this.#latency(end, this.#asked ?? end, answer?.at ?? end),
      tokens_in: null,
      items: this.items,
      cold_start: answer?.coldStart ?? false,
      fallback: null,
      confidence: answer && answer.confidence,
      error: error === undefined ? null : className(error),
    };
  }

  /**
   * @param {number} end
   * @param {number} asked
   * @param {number} answered
   */
  #latency(end, asked, answered) {
    const [queue, run, post] = [asked - this.#started, answered - asked, end - answered];
    return { tokenise: 0, queue, run, post, total: end - this.#started };
  }
}

/**
 * The score of the best label, the mean over the texts; null for anything but labels.
 * @param {any} result what a call gave
 * @param {boolean} isList several texts were given
 * @returns {number | null}
 */
export function meanTopScore(result, isList) {
  const scores = (isList ? result : [result]).map((/** @type {any} */ labels) => labels?.[0]?.score);
  if (!scores.length || scores.some((/** @type {unknown} */ score) => typeof score !== "number")) return null;
  return (
    scores.reduce((/** @type {number} */ sum, /** @type {number} */ score) => sum + score) / scores.length
  );
}

/**
 * Python's metric as the page sees it: the way to its worker and back, and the wait there, are queue.
 * @param {InferenceMetric} told
 * @param {number} total
 * @returns {InferenceMetric}
 */
function withTrip(told, total) {
  const trip = Math.max(0, total - told.latency_ms.total);
  const { queue, total: within } = told.latency_ms;
  return { ...told, latency_ms: { ...told.latency_ms, queue: queue + trip, total: within + trip } };
}

/** @param {unknown} error */
function className(error) {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "";
  return CLASS_NAME.test(name) ? name : "Error";
}
