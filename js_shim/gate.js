/**
 * The few hard gates: is it certain, before Python or a model is fetched, that the answer will come from the API?
 * `remote_only_reason` in `edgeinfer_browser/policy.py` decides the same; `tests/gate_cases.json` holds them together.
 * @module
 */

/**
 * @param {object} wish what the author asked for
 * @param {string} [wish.policy] a preset's name
 * @param {string} [wish.tier] a tier asked for by name
 * @param {string} [wish.api] base URL of the API
 * @param {string} [wish.model]
 * @param {string} [wish.task]
 * @param {object} facts what the device says
 * @param {boolean} facts.webassembly WebAssembly compiles here
 * @param {boolean} facts.saveData the user asked for few downloads
 * @param {boolean} facts.offline the browser says that it is offline
 * @returns {string | null} the reason, or null when Python must decide
 */
export function remoteOnlyReason({ policy = "prefer-local", tier, api }, { webassembly, saveData, offline }) {
  const usesApi = tier ? tier === "api" : policy !== "only-local";
  if (!api || !usesApi) return null;
  if (tier === "api" || policy === "only-remote") return "The policy asks for the API only.";
  if (offline) return null;
  if (!webassembly) return "This browser has no WebAssembly, or the Content-Security-Policy forbids it.";
  if (saveData && policy !== "prefer-remote") return "The user asked for few downloads (Save-Data).";
  return null;
}
