/**
 * Sentences to click.
 * @module
 */
import { byId, make } from "./dom.js";

const SENTENCES = [
  "What a lovely evening!",
  "It broke after two days.",
  "The soup was cold and the waiter colder.",
];

/** @param {(sentence: string) => void} onPick */
export function showExamples(onPick) {
  const buttons = SENTENCES.map((sentence) => {
    const button = make("button", "example", sentence);
    button.type = "button";
    button.addEventListener("click", () => onPick(sentence));
    return make("li", "", button);
  });
  byId("examples", "ul").replaceChildren(...buttons);
}
