/**
 * The answer: the label, all scores as bars, who answered, and whether the text left this device.
 * @module
 */
import { byId, make } from "./dom.js";
import { dtypeWords, duration, percent, TIERS, tierName } from "./words.js";

/** @typedef {import("../js_shim/protocol").Label} Label */

/**
 * @typedef {object} Result
 * @property {string} text
 * @property {Label[]} labels best first
 * @property {string | null} tier
 * @property {string | null} dtype
 * @property {number} milliseconds
 */

const box = byId("answer", "div");

/** @param {Result} result */
export function showResult(result) {
  const [best] = result.labels;
  box.replaceChildren(
    make("blockquote", "quote", result.text),
    make("p", "verdict", best?.label ?? "No label"),
    make("ul", "bars", ...result.labels.map(bar)),
    by(result),
  );
  box.hidden = false;
}

export function hideResult() {
  box.hidden = true;
  box.replaceChildren();
}

/** @param {Label} label */
function bar({ label, score }) {
  const fill = make("span", "fill");
  fill.style.setProperty("--score", String(score));
  const track = make("span", "track", fill);
  track.ariaHidden = "true";
  return make("li", "", make("span", "label", label), make("span", "score", percent(score)), track);
}

/** @param {Result} result */
function by({ tier, dtype, milliseconds }) {
  const how = [dtypeWords(dtype), duration(milliseconds)].filter(Boolean).join(" · ");
  const isRemote = tier === "api";
  const who = make("p", "by", "Answered by ", make("strong", "", tierName(tier)));
  who.append(`, ${TIERS[tier ?? ""]?.what ?? "an unknown tier"}`);
  const place = isRemote
    ? `Your text was sent to the API of ${location.host}.`
    : "Your text did not leave this device.";
  return make("div", "provenance", who, make("p", "how", how), make("p", "place", place));
}
