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
 * @property {string | null} asked the tier that was asked first
 * @property {string | null} tier the tier that answered
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
  box.ariaBusy = "false";
  box.hidden = false;
  // On a small screen the answer is below the keyboard's edge; where it is in view already, nothing moves.
  box.parentElement?.scrollIntoView({ block: "nearest" });
}

/** The answer that is shown belongs to an earlier text. */
export function markStale() {
  box.ariaBusy = "true";
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
function by({ asked, tier, dtype, milliseconds }) {
  const how = [dtypeWords(dtype), duration(milliseconds)].filter(Boolean).join(" · ");
  const who = make(
    "p",
    "by",
    tier === "api" ? "Answered by the " : "Answered by ",
    make("strong", "", tierName(tier)),
  );
  who.append(` ${TIERS[tier ?? ""]?.what ?? ""}`);
  return make("div", "provenance", who, make("p", "how", how), make("p", "place", place(asked, tier)));
}

/**
 * @param {string | null} asked
 * @param {string | null} tier
 */
function place(asked, tier) {
  if (tier === "api") return `Your text was sent to the API of ${location.host}.`;
  if (asked === "api") return "The API was asked first and may have your text.";
  return "Your text did not leave this device.";
}
