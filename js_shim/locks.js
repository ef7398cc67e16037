/**
 * One tab downloads, the others wait: a Web Lock for each file. The one that downloads tells how far it is, so that
 * those who wait show it too, and know that it is alive.
 * @module
 */
import { StallTimer } from "./stall_timer.js";

/** @typedef {import("./protocol").OnProgress} OnProgress */

/** Silences of the tab that downloads, in stall times, after which it is no longer waited for. */
const PATIENCE = 2;

/**
 * Do the work while no other tab does. Without locks (insecure contexts), or when the tab that has the lock seems
 * dead, it is done all the same: twice, then, which costs a download and harms nothing.
 * @template T
 * @param {string} key
 * @param {{signal: AbortSignal, onProgress: OnProgress, timeout: number}} options `timeout` in seconds
 * @param {(onProgress: OnProgress) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function alone(key, { signal, onProgress, timeout }, work) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return work(onProgress);
  const news = new News(key, onProgress, new StallTimer(PATIENCE * timeout));
  try {
    return await locks.request(
      `edgeinfer ${key}`,
      { signal: AbortSignal.any([signal, news.silence]) },
      () => {
        news.speak();
        return work(news.tell);
      },
    );
  } catch (error) {
    if (news.spoken || signal.aborted) throw error;
    return await work(onProgress); // the lock itself failed
  } finally {
    news.close();
  }
}

/** The channel on which the tab that downloads tells the others. */
class News {
  spoken = false;

  /**
   * @param {string} key
   * @param {OnProgress} onProgress
   * @param {StallTimer} stall
   */
  constructor(key, onProgress, stall) {
    this.onProgress = onProgress;
    this.stall = stall;
    this.channel = globalThis.BroadcastChannel && new BroadcastChannel(`edgeinfer ${key}`);
    if (this.channel) this.channel.onmessage = ({ data }) => this.#hear(data);
  }

  /** Aborts when the others have been silent for too long. */
  get silence() {
    return this.stall.signal;
  }

  /** From now on this tab is the one that tells. */
  speak() {
    this.spoken = true;
    this.stall.stop();
    if (this.channel) this.channel.onmessage = null;
  }

  /** @type {OnProgress} */
  tell = (loaded, total) => {
    this.onProgress(loaded, total);
    this.channel?.postMessage([loaded, total]);
  };

  /** @param {[number, number]} progress */
  #hear([loaded, total]) {
    this.stall.restart();
    this.onProgress(loaded, total);
  }

  close() {
    this.stall.stop();
    this.channel?.close();
  }
}
