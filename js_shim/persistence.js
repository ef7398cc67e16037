/**
 * Persistent storage: asked for once something worth keeping lies in it. The browser decides, or asks the user.
 * @module
 */

/** @type {Promise<boolean | null> | undefined} */
let asked;

/**
 * Whether the browser promised not to evict this site's storage; null where it cannot be asked (workers, insecure
 * contexts, WebKitGTK). Asks once a page, and never fails.
 * @returns {Promise<boolean | null>}
 */
export function persist() {
  return (asked ??= ask());
}

async function ask() {
  try {
    const storage = globalThis.navigator?.storage;
    if (!storage?.persist) return null;
    return (await storage.persisted()) || (await storage.persist());
  } catch {
    return null; // an opaque origin, say: nothing is stored there for long anyway
  }
}
