/**
 * The capability table: for a layman the words, for an expert the field's name, the value and the reason.
 * @module
 */
import { byId, make } from "./dom.js";
import { bytesWords } from "./words.js";

/** @typedef {Record<string, any>} Capabilities */
/** @typedef {(value: any, all: Capabilities) => string} Format */

/** @type {Format} */
const yesNo = (value) => (value ? "Yes" : "No");
/** @type {Format} */
const orUnknown = (value) =>
  value === null || value === undefined || value === "" ? "Not told" : String(value);
/** @type {Format} */
const size = (value) => (typeof value === "number" ? bytesWords(value) : "Not told");
/** @type {Format} */
const maybe = (value) => (typeof value === "boolean" ? yesNo(value, {}) : "Not told");
/** @type {Format} */
const software = (value, { webgpu }) => {
  if (!webgpu) return "No adapter";
  return value ? "No, it is emulated in software, which is slower than WASM" : "Yes";
};
/** @type {Format} */
const memory = (value) => (value ? `About ${value} GiB, as the browser rounds it` : "Not told");
/** @type {Format} */
const half = (value) => yesNo(value.includes("shader-f16"), {});
/** @type {Format} */
const others = (value) =>
  value.filter((/** @type {string} */ name) => name !== "shader-f16").join(", ") || "None";

/** Groups of rows: field, what it means, how its value is said. @type {[string, [string, string, Format][]][]} */
const GROUPS = [
  [
    "Graphics card",
    [
      ["webgpu", "Can compute on the graphics card", yesNo],
      ["software_adapter", "A real graphics card", software],
      ["adapter", "Its name", orUnknown],
      ["features", "16-bit arithmetic (shader-f16)", half],
      ["max_buffer_size", "Largest block of graphics memory", size],
      ["max_storage_buffer_binding_size", "Largest part of a model it can work on", size],
      ["features", "Other features", others],
    ],
  ],
  [
    "Processor",
    [
      ["webassembly", "Can run compiled code (WebAssembly)", yesNo],
      ["wasm_simd", "Computes several numbers at once (SIMD)", yesNo],
      ["wasm_threads", "Several cores on one task (threads)", yesNo],
      ["wasm_jspi", "Can wait inside compiled code (JSPI)", yesNo],
      ["workers", "Background workers", yesNo],
      ["cores", "Cores", orUnknown],
      ["device_memory", "Memory", memory],
    ],
  ],
  [
    "Storage",
    [
      ["cache_api", "Can keep the model for the next visit", yesNo],
      ["storage_free", "Room left for this site", size],
      ["storage_persisted", "Kept even when the disk is full", maybe],
    ],
  ],
  [
    "Page and network",
    [
      ["secure_context", "Secure page (https or localhost)", yesNo],
      ["cross_origin_isolated", "Isolated from other sites", yesNo],
      ["online", "Online", maybe],
      ["effective_type", "Speed of the network, like", orUnknown],
      ["save_data", "You asked for few downloads (Save-Data)", yesNo],
      ["host", "Looked from", orUnknown],
    ],
  ],
];

/** @param {Capabilities | null} capabilities null when nothing was probed */
export function showDevice(capabilities) {
  const table = byId("device-table", "table");
  const note = byId("device-note", "p");
  table.hidden = !capabilities;
  note.hidden = Boolean(capabilities);
  if (!capabilities) {
    note.textContent = "Not looked at: the API answers, so nothing about this device needs to be known.";
    return;
  }
  for (const body of [...table.tBodies]) body.remove();
  table.append(...GROUPS.map(([title, rows]) => group(title, rows, capabilities)));
}

/**
 * @param {string} title
 * @param {[string, string, Format][]} rows
 * @param {Capabilities} capabilities
 */
function group(title, rows, capabilities) {
  const head = make("th", "group", title);
  head.colSpan = 2;
  head.scope = "rowgroup";
  return make("tbody", "", make("tr", "", head), ...rows.map((entry) => row(...entry, capabilities)));
}

/**
 * @param {string} field
 * @param {string} meaning
 * @param {Format} format
 * @param {Capabilities} capabilities
 */
function row(field, meaning, format, capabilities) {
  const head = make("th", "", meaning, " ", make("code", "", ...breakable(field)));
  head.scope = "row";
  const value = format(capabilities[field], capabilities);
  const cell = make("td", "", make("span", `value ${valueKind(value)}`, value));
  const reason = capabilities.reasons?.[field];
  if (reason) cell.append(make("span", "because", reason));
  return make("tr", "", head, cell);
}

/** @param {string} value */
function valueKind(value) {
  if (value.length > 60) return "long";
  return /^No(t|ne|,)?\b/.test(value) ? "no" : "";
}

/**
 * A field's name may break after each underscore, and nowhere else.
 * @param {string} field
 */
function breakable(field) {
  return field.split(/(?<=_)/).flatMap((part) => [part, document.createElement("wbr")]);
}
