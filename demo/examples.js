/**
 * Sentences to click.
 * @module
 */
import { byId, make } from "./dom.js";

const SENTENCES = [
  "The soup was cold and the waiter colder.",
  "I could watch this film every single evening.",
  "It broke after two days.",
  "Best birthday in years!",
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
