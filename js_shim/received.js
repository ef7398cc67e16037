/**
 * Received: the bytes of a file as they come, whichever connection or visit they come from.
 * @module
 */

/** Bytes of a segment: what a reload in the middle loses at most. */
export const SEGMENT_BYTES = 4 * 2 ** 20;

export class Received {
  /** Bytes so far. */
  size = 0;
  /** The version of the file that they are of: an ETag or a date; "" when the server told none. */
  validator = "";
  /** @type {Blob[]} */
  #parts = [];
  /** @type {Uint8Array<ArrayBuffer>[]} */
  #tail = [];
  #tailBytes = 0;

  /** @param {import("./segments.js").Segments | null} segments where to keep them for a later visit */
  constructor(segments) {
    this.segments = segments;
  }

  /**
   * What an earlier visit left, or nothing.
   * @param {import("./segments.js").Segments | null} segments
   */
  static async resume(segments) {
    const received = new Received(segments);
    for (const { blob, validator } of (await segments?.read()) ?? []) {
      received.#parts.push(blob);
      received.size += blob.size;
      received.validator = validator;
    }
    return received;
  }

  /** @param {Uint8Array<ArrayBuffer>} chunk */
  add(chunk) {
    this.#tail.push(chunk);
    this.#tailBytes += chunk.byteLength;
    this.size += chunk.byteLength;
    if (this.#tailBytes >= SEGMENT_BYTES) this.#closeSegment();
  }

  /** Keep all of it for a later visit. */
  async keep() {
    if (this.#tailBytes) this.#closeSegment();
    await this.segments?.written();
  }

  /** Forget all of it. */
  async restart() {
    this.#parts = [];
    this.#tail = [];
    this.#tailBytes = this.size = 0;
    this.validator = "";
    await this.segments?.clear();
  }

  blob() {
    return new Blob([...this.#parts, ...this.#tail]);
  }

  #closeSegment() {
    const blob = new Blob(this.#tail);
    this.segments?.put({ start: this.size - blob.size, blob, validator: this.validator });
    this.#parts.push(blob);
    this.#tail = [];
    this.#tailBytes = 0;
  }
}
