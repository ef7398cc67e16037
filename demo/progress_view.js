/**
 * Loading: the stage in words, a bar, and megabytes where they are known.
 * @module
 */
import { byId, say } from "./dom.js";
import { megabytes, tierName } from "./words.js";

/** @typedef {import("../js_shim/protocol").Progress} Progress */

const box = byId("loading", "div");
const bar = byId("progress", "progress");

/** @param {Progress} progress */
export function showProgress({ stage, message, loaded = 0, total = 0 }) {
  box.hidden = false;
  // A download that is complete is followed by start-up and proof, of which nobody knows how long they take.
  const isDownload = loaded > 0 && loaded !== total;
  say(byId("stage", "p"), stageWords(stage, message, isDownload, loaded));
  say(byId("amount", "p"), amount(isDownload, loaded, total));
  if (!isDownload || !total) return bar.removeAttribute("value");
  bar.max = total;
  bar.value = loaded;
}

export function hideProgress() {
  box.hidden = true;
}

/**
 * @param {boolean} isDownload
 * @param {number} loaded
 * @param {number} total
 */
function amount(isDownload, loaded, total) {
  if (!isDownload) return "";
  return total ? `${megabytes(loaded)} of ${megabytes(total)}` : megabytes(loaded);
}

/**
 * @param {Progress["stage"]} stage
 * @param {string} message
 * @param {boolean} isDownload
 * @param {number} loaded
 */
function stageWords(stage, message, isDownload, loaded) {
  if (stage === "python") return "Starting Python in the background";
  if (stage === "probe") return "Looking at what this device can do";
  if (stage === "attempt") {
    const tier = /^\w+/.exec(message)?.[0];
    return `${tierName(tier)} did not work out; trying the next tier`;
  }
  if (isDownload) return stage === "runtime" ? "Downloading the engine" : "Downloading the model";
  if (loaded) return "Starting the model and checking it on a known sentence";
  return stage === "model" ? "Reading what the model needs" : message;
}
