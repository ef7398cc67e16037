/**
 * The Python worker: boots Pyodide, puts the wheel into it, registers the shim, and passes the page's requests on to
 * `edgeinfer_browser/rpc.py`. It decides nothing.
 * @module
 */
import { createShim } from "./shim.js";
import { ShimError, toFields } from "./shim_error.js";

/** @typedef {import("./protocol").PageRequest} PageRequest */

/** The wheel's file name, put in by the build. */
const WHEEL = /** @type {any} */ (globalThis).EDGEINFER_WHEEL;
const base = new URL("./", import.meta.url);

/** @type {Promise<any> | undefined} */
let booting;

addEventListener("message", async ({ data }) => {
  const { id, method, params } = /** @type {PageRequest} */ (data);
  try {
    booting ??= boot().catch((error) => {
      booting = undefined; // the next request tries again
      throw error;
    });
    const rpc = await booting;
    if (method === "boot") return postMessage({ id, result: {} });
    postMessage({ id, ...(await ask(rpc, method, params)) });
  } catch (error) {
    postMessage({ id, error: toFields(error, "SessionError") });
  }
});

async function boot() {
  const indexURL = new URL("pyodide/", base).href;
  const [{ loadPyodide }, wheel] = await Promise.all([
    import(/* @vite-ignore */ `${indexURL}pyodide.mjs`),
    fetchWheel(new URL(WHEEL, base).href),
  ]);
  const pyodide = await loadPyodide({ indexURL });
  const sessionWorkerUrl = new URL("session_worker.js", base).href;
  const shim = createShim(JSON.stringify({ sessionWorkerUrl, runtimeUrl: base.href }), () =>
    postMessage({ committed: true }),
  );
  pyodide.registerJsModule("edgeinfer_shim", { shim });
  pyodide.unpackArchive(wheel, "wheel");
  return pyodide.pyimport("edgeinfer_browser.rpc");
}

/** @param {string} url */
async function fetchWheel(url) {
  const response = await fetch(url);
  if (response.ok) return response.arrayBuffer();
  throw new ShimError(
    "NotFoundError",
    `${url} answered ${response.status}. Copy the edgeinfer folder again.`,
    { url },
  );
}

/**
 * @param {any} rpc
 * @param {string} method
 * @param {Record<string, unknown>} params
 */
async function ask(rpc, method, params) {
  const coroutine = rpc.handle(method, JSON.stringify(params), emit);
  try {
    return JSON.parse(await coroutine);
  } finally {
    coroutine.destroy();
  }
}

/** @param {string} event */
function emit(event) {
  postMessage({ event: JSON.parse(event) });
}
