/**
 * The demo page: loads a pipeline for the settings in the address, asks it, and shows what came of it.
 *
 * For tests and the console: `document.documentElement.dataset.state` is "loading", "ready" or "error", and
 * `window.demo` holds the pipeline and the last result.
 * @module
 */
import { showDevice } from "./device_table.js";
import { byId, say } from "./dom.js";
import { failedAttempts, hideError, showError } from "./error_view.js";
import { showExamples } from "./examples.js";
import { hideProgress, showProgress } from "./progress_view.js";
import { hideResult, markStale, showResult } from "./result_view.js";
import { showRoute } from "./route_view.js";
import { readSettings, watchSettings } from "./settings.js";
import { tierName } from "./words.js";

/** @typedef {typeof import("../js_shim/edgeinfer.js")} Client */
/** @typedef {Awaited<ReturnType<Client["load"]>>} LoadedPipeline */
/** @typedef {import("./result_view.js").Result} Result */

const form = byId("form", "form");
const text = byId("text", "textarea");
const hint = byId("hint", "p");
const empty = byId("empty", "p");
const isMac = /mac|iphone|ipad/i.test(navigator.platform);
const hasKeyboard = matchMedia("(hover: hover)").matches;
const KEYS = hasKeyboard ? `${isMac ? "⌘" : "Ctrl"} + Enter works too` : "";

const demo = {
  /** @type {LoadedPipeline | null} */
  pipeline: null,
  /** @type {Result | null} */
  lastResult: null,
};
Object.assign(window, { demo });

/** Goes up with each load and each change of settings; what belongs to an earlier one is dropped. */
let generation = 0;
/** A text that was sent off before the pipeline was ready. @type {string | null} */
let waiting = null;

/** @param {"loading" | "ready" | "error"} state @param {string} words */
function setState(state, words) {
  document.documentElement.dataset.state = state;
  say(byId("status", "span"), words);
}

/** Where the answer comes from colours the page: the visitor sees at a glance when text leaves the device. */
function setPlace(/** @type {string | null} */ tier) {
  document.documentElement.dataset.place = tier === "api" ? "network" : "device";
}

/** Drops the pipeline at once; a load that is under way disposes of its own when it ends. */
function reset() {
  generation++;
  demo.pipeline?.dispose().catch(() => {}); // its worker died: there is nothing left to dispose of
  demo.pipeline = null;
  demo.lastResult = null;
  hideResult();
  hideError();
  empty.hidden = true;
  const { tier } = readSettings();
  setState("loading", "Loading");
  setPlace(tier ?? null);
  showProgress({ stage: "python", message: "" });
  showRoute([], null, { forced: tier, loading: true });
}

async function start() {
  reset();
  const own = generation;
  const { tier, policy } = readSettings();
  try {
    const pipeline = await loadPipeline(own, /** @type {any} */ ({ tier, policy }));
    if (own !== generation) return await pipeline.dispose();
    demo.pipeline = pipeline;
  } catch (error) {
    if (own === generation) fail(error, start);
    return;
  }
  hideProgress();
  showReady(demo.pipeline);
  const pending = waiting;
  waiting = null;
  if (pending !== null) await classify(pending);
}

/**
 * @param {number} own
 * @param {Pick<import("../js_shim/edgeinfer.js").LoadOptions, "tier" | "policy">} settings
 */
async function loadPipeline(own, settings) {
  // Imported here and not at the top, so that a missing client is an error on the page and not a dead page.
  const url = new URL("./edgeinfer/edgeinfer.js", import.meta.url).href;
  const { load } = /** @type {Client} */ (await import(url));
  return load({
    task: "text-classification",
    model: "./models/sentiment/",
    api: "./api/",
    ...settings,
    onProgress: (progress) => {
      if (own === generation && progress.stage !== "ready") showProgress(progress);
    },
  });
}

/** All tiers get a new chance, also those that failed to load. @param {string} input */
function startWith(input) {
  waiting = input;
  return start();
}

/** @param {LoadedPipeline} pipeline */
function showReady({ info }) {
  setState("ready", `Ready: ${tierName(info.tier)}`);
  setPlace(info.tier);
  showRoute(info.attempts, info.tier, { forced: readSettings().tier });
  showDevice(info.capabilities);
  say(empty, `Ready. ${tierName(info.tier)} will answer.`);
  empty.hidden = false;
  say(hint, KEYS);
}

/** @param {string} input */
async function classify(input) {
  const { pipeline } = demo;
  if (!input.trim()) {
    say(hint, "Write a sentence first.");
    return text.focus();
  }
  if (!pipeline) {
    if (document.documentElement.dataset.state === "error") return startWith(input);
    waiting = input;
    return say(hint, "It will be answered as soon as the model is ready.");
  }
  const own = ++generation;
  demo.lastResult = null;
  say(hint, "Reading…");
  hideError();
  markStale();
  const asked = pipeline.info.tier;
  try {
    const labels = await pipeline(input, { topK: null });
    if (own === generation) answer(pipeline, input, labels, asked);
  } catch (error) {
    if (own === generation) fail(error, () => startWith(input));
  }
}

/**
 * @param {LoadedPipeline} pipeline
 * @param {string} input
 * @param {import("../js_shim/protocol").Label[]} labels
 * @param {string | null} asked the tier that was asked first; when it fails, another one answers
 */
function answer({ info }, input, labels, asked) {
  const { tier = info.tier, dtype = info.dtype, latency_ms: milliseconds = 0 } = info.last ?? {};
  demo.lastResult = { text: input, labels, asked, tier, dtype, milliseconds };
  empty.hidden = true;
  setState("ready", `Ready: ${tierName(tier)}`);
  setPlace(asked === "api" ? asked : tier);
  showResult(demo.lastResult);
  showRoute(info.attempts, tier, { forced: readSettings().tier, answered: true });
  say(hint, KEYS);
}

/** @param {any} error @param {() => void} retry */
function fail(error, retry) {
  demo.lastResult = null;
  hideProgress();
  hideResult();
  empty.hidden = true;
  setState("error", "Something went wrong");
  showRoute(failedAttempts(error, demo.pipeline?.info), null, { forced: readSettings().tier });
  showError(error, retry);
  say(hint, KEYS);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  classify(text.value);
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});
showExamples((sentence) => {
  text.value = sentence;
  form.requestSubmit();
});
say(hint, KEYS);
watchSettings(reset, start);
start();
