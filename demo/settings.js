/**
 * Which tier and which policy: one truth, the page's address, so that a choice is a link. The inputs follow it.
 * @module
 */
import { byId } from "./dom.js";

/** Arrow keys pass through the radios; a tier that is only passed must not start a download. */
const SETTLE_MS = 350;

const choices = byId("choices", "form");
const policy = byId("policy", "select");

/** What the address asks for; a name that does not exist is passed on, and the pipeline says which do. */
export function readSettings() {
  const query = new URLSearchParams(location.search);
  const tier = query.get("tier") || undefined;
  // The policy is what "Automatic" means; with a tier chosen it has no say, and could rule that tier out.
  return { tier, policy: (!tier && query.get("policy")) || undefined };
}

/**
 * @param {() => void} onChoice at once: what is shown is out of date
 * @param {() => void} onSettled when the choice has stood for a moment
 */
export function watchSettings(onChoice, onSettled) {
  showSettings();
  let timer = 0;
  const changed = () => {
    onChoice();
    clearTimeout(timer);
    timer = window.setTimeout(onSettled, SETTLE_MS);
  };
  choices.addEventListener("change", () => {
    writeSettings();
    changed();
  });
  choices.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("popstate", () => {
    showSettings();
    changed();
  });
}

function showSettings() {
  const { tier = "", policy: preset = "prefer-local" } = readSettings();
  for (const radio of radios()) radio.checked = radio.value === tier;
  policy.value = preset;
  policy.disabled = Boolean(tier);
}

function writeSettings() {
  const url = new URL(location.href);
  const tier = radios().find((radio) => radio.checked)?.value ?? "";
  const wanted = { tier, policy: policy.value === "prefer-local" ? "" : policy.value };
  for (const [name, value] of Object.entries(wanted)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, "", url);
  policy.disabled = Boolean(tier);
}

function radios() {
  return /** @type {HTMLInputElement[]} */ ([...choices.querySelectorAll("input[type=radio]")]);
}
