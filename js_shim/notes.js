/**
 * Small notes that outlive the page (which tier was fastest, say): in the Cache API, which workers have too, else in
 * memory.
 * @module
 */

const CACHE_NAME = "edgeinfer-notes-v1";

/** @type {Map<string, string>} */
const memory = new Map();

/** @param {string} key */
const address = (key) => `https://edgeinfer.invalid/notes/${encodeURIComponent(key)}`;

/**
 * @param {string} key
 * @returns {Promise<string | null>}
 */
export async function recall(key) {
  try {
    const kept = await (await caches.open(CACHE_NAME)).match(address(key));
    return (await kept?.text()) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

/**
 * @param {string} key
 * @param {string} text
 */
export async function remember(key, text) {
  memory.set(key, text);
  try {
    await (await caches.open(CACHE_NAME)).put(address(key), new Response(text));
  } catch {
    // No Cache API, or no room: the note lasts as long as this page.
  }
}
