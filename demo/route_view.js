/**
 * The way to the answer: each tier with what became of it, in words.
 * @module
 */
import { byId, make } from "./dom.js";
import { dtypeWords, duration, TIERS, tierName } from "./words.js";

/** @typedef {import("../js_shim/edgeinfer.js").Info["attempts"][number]} Attempt */
/** @typedef {{state: "used" | "refused" | "idle", status: string, reasons: string[]}} Stop */

const list = byId("route", "ol");

/**
 * @param {Attempt[]} attempts
 * @param {string | null} current the tier in use, if one is
 * @param {{forced?: string, loading?: boolean, answered?: boolean}} [view]
 */
export function showRoute(attempts, current, view = {}) {
  const known = attempts.flatMap(spread);
  const stops = Object.keys(TIERS).map((tier) => {
    const own = known.filter((attempt) => attempt.tier === tier);
    return item(tier, describe(tier, own, current, view));
  });
  list.replaceChildren(...stops);
}

/**
 * The thin path speaks of both local tiers at once.
 * @param {Attempt} attempt
 */
function spread(attempt) {
  return attempt.tier === "local" ? ["webgpu", "wasm"].map((tier) => ({ ...attempt, tier })) : [attempt];
}

/**
 * @param {string} tier
 * @param {Attempt[]} own
 * @param {string | null} current
 * @param {{forced?: string, loading?: boolean, answered?: boolean}} view
 * @returns {Stop}
 */
function describe(tier, own, current, { forced, loading, answered }) {
  // A file that was passed over for another one of the same tier is not the tier's end.
  const last = own.filter((attempt) => attempt.ok || attempt.dtype === null || attempt.seconds).at(-1);
  const reasons = [...new Set(own.filter((attempt) => !attempt.ok).map((attempt) => attempt.reason))];
  if (tier === current) {
    const facts = [last?.dtype && dtypeWords(last.dtype), last?.seconds && startedIn(last.seconds)];
    const before = reasons.map((reason) => `Before that: ${reason}`);
    const status = answered ? "Answered" : "Ready";
    return { state: "used", status, reasons: [facts.filter(Boolean).join(", "), ...before].filter(Boolean) };
  }
  if (forced && tier !== forced) return idle("Not asked", `You chose ${tierName(forced)}.`);
  if (last && !last.ok) return { state: "refused", status: last.seconds ? "Failed" : "Not used", reasons };
  if (loading) return idle("Waiting", "");
  return current ? idle("Not needed", `${tierName(current)} came first.`) : idle("Not tried", "");
}

/** @param {number} seconds */
function startedIn(seconds) {
  return `started and checked in ${duration(seconds * 1000)}`;
}

/**
 * @param {string} status
 * @param {string} reason
 * @returns {Stop}
 */
function idle(status, reason) {
  return { state: "idle", status, reasons: reason ? [reason] : [] };
}

/**
 * @param {string} tier
 * @param {Stop} stop
 */
function item(tier, { state, status, reasons }) {
  const name = make("h3", "", tierName(tier), make("small", "", TIERS[tier].what));
  const stop = make("li", "stop", name, make("p", "stop-status", status));
  stop.dataset.tier = tier;
  stop.dataset.state = state;
  stop.append(...reasons.map((reason) => make("p", "reason", sentence(reason))));
  return stop;
}

/**
 * "SessionError: it died" is for a log; the sentence alone is for a reader.
 * @param {string} reason
 */
function sentence(reason) {
  const text = reason.replace(/^(Before that: )?\w+Error: /, "$1");
  return text.startsWith("http") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
