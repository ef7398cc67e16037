/**
 * The two things every view does with the document. Text always goes in by `textContent`: it may be a user's.
 * @module
 */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {string} id
 * @param {K} _tag what the element is, for the type checker
 * @returns {HTMLElementTagNameMap[K]}
 */
export function byId(id, _tag) {
  return /** @type {any} */ (document.getElementById(id));
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} className
 * @param {...(string | Node)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/**
 * Writes only what changed, so that a live region is not read out again for nothing.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
