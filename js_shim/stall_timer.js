/**
 * A timer that is wound up again with each byte: a slow download that goes on is left alone, one that stalls is not.
 * @module
 */

export class StallTimer {
  #controller = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {number} seconds without a sign of life that are too many */
  constructor(seconds) {
    this.seconds = seconds;
    this.restart();
  }

  /** Aborts when nothing has come for a while. */
  get signal() {
    return this.#controller.signal;
  }

  restart() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), this.seconds * 1000);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
