/**
 * An error that a visitor can act on: what happened, the message as it came, what to do.
 * @module
 */
import { byId, make } from "./dom.js";

const box = byId("error", "div");

const NETWORK = "Check the connection and try again. If it stays, files of this site are missing or damaged.";
const OTHER_TIER = "Try again, or choose another tier below.";

/** By the error's name: what happened, what to do. @type {Record<string, [string, string]>} */
const ADVICE = {
  NoBackendError: ["No tier could answer", OTHER_TIER],
  RemoteError: [
    "The API gave no answer",
    "Try again, or let this device answer: choose Automatic or WASM below.",
  ],
  RateLimitedError: [
    "The API is busy",
    "Wait a moment and try again, or let this device answer: choose WASM below.",
  ],
  FetchError: ["A file could not be fetched", NETWORK],
  NotFoundError: ["A file is missing", NETWORK],
  ContentError: ["A file is not what it should be", NETWORK],
  IntegrityError: ["A file arrived damaged", NETWORK],
  DeadlineError: ["It took too long", OTHER_TIER],
  SessionError: ["The engine stopped", `${OTHER_TIER} A fresh one will be started.`],
  RunError: ["The model gave no usable answer", OTHER_TIER],
  GoldenSampleError: ["This tier computes wrongly here", "Choose another tier below."],
  UnknownNameError: ["The address asks for something unknown", "Choose a tier below."],
  InputError: ["This text cannot be classified", "Change the text and try again."],
};

/**
 * @param {unknown} thrown
 * @param {() => void} retry
 */
export function showError(thrown, retry) {
  const { name, message } = thrown instanceof Error ? thrown : { name: "Error", message: String(thrown) };
  const [title, advice] = ADVICE[name] ?? [
    "Something went wrong",
    `${OTHER_TIER} If it stays, reload the page.`,
  ];
  const button = make("button", "secondary", "Try again");
  button.type = "button";
  button.addEventListener("click", () => {
    // The button goes away with the error; a keyboard must not be thrown back to the top of the page.
    byId("answer-title", "h2").focus();
    retry();
  });
  box.replaceChildren(
    make("p", "error-title", title),
    make("p", "error-advice", advice),
    make("p", "error-message", make("b", "", name), `\n${message}`),
    button,
  );
}

export function hideError() {
  box.replaceChildren();
}

/**
 * What loading met, then the call; an error that lists no attempts is the failure of the tier in use.
 * @param {any} error
 * @param {import("../js_shim/edgeinfer.js").Info} [info]
 * @returns {import("../js_shim/edgeinfer.js").Info["attempts"]}
 */
export function failedAttempts(error, info) {
  const before = info?.attempts ?? [];
  if (error?.details?.attempts) return [...before, ...error.details.attempts];
  if (!info?.tier) return before;
  return [
    ...before,
    { tier: info.tier, dtype: info.dtype, ok: false, reason: "It gave no answer.", seconds: 1 },
  ];
}
