/** A real HTTP server on loopback with one file, and each way a server or a connection fails, played in order. */
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";

/** @typedef {import("node:http").IncomingMessage} Request */
/** @typedef {import("node:http").ServerResponse} Answer */
/** @typedef {(request: Request, answer: Answer, server: FileServer) => void} Behaviour */

export const sha256 = (/** @type {string | Buffer} */ data) =>
  createHash("sha256").update(data).digest("hex");

export class FileServer {
  /** What came: the Range asked for, and the bytes of the file that were sent. @type {{range: string, ifRange: string, sent: number}[]} */
  log = [];
  /** Played in order, the last one for ever. @type {Behaviour[]} */
  plays = [whole()];
  url = "";

  /** @param {Buffer} data */
  constructor(data = randomBytes(300_000)) {
    this.data = data;
    this.http = createServer((request, answer) => {
      const { range = "", "if-range": ifRange = "" } = request.headers;
      this.log.push({ range, ifRange: String(ifRange), sent: 0 });
      const play = this.plays.length > 1 ? this.plays.shift() : this.plays[0];
      play?.(request, answer, this);
    });
  }

  get etag() {
    return `"${sha256(this.data).slice(0, 8)}"`;
  }

  /** @param {string} [path] */
  file(path = "onnx/model.onnx") {
    return { url: `${this.url}${path}`, sha256: sha256(this.data), bytes: this.data.length, timeout: 5 };
  }

  /** Bytes of the file sent so far, by all answers. */
  get sent() {
    return this.log.reduce((sum, { sent }) => sum + sent, 0);
  }

  /**
   * @param {Answer} answer
   * @param {Buffer} bytes
   */
  send(answer, bytes) {
    this.log[this.log.length - 1].sent += bytes.length;
    answer.write(bytes);
  }
}

/**
 * A server for one test.
 * @param {import("node:test").TestContext} context
 * @param {...Behaviour} plays
 */
export async function fileServer(context, ...plays) {
  const server = new FileServer();
  if (plays.length) server.plays = plays;
  await new Promise((resolve) => server.http.listen(0, "127.0.0.1", () => resolve(null)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.http.address());
  server.url = `http://127.0.0.1:${port}/`;
  context.after(() => {
    server.http.closeAllConnections();
    server.http.close();
  });
  return server;
}

/**
 * The file, or the range that was asked for, as a good server sends it; `cut` breaks the connection after so many bytes.
 * @param {{ranges?: boolean, etag?: boolean, cut?: number, contentRange?: string, announce?: boolean}} [options]
 * @returns {Behaviour}
 */
export function whole({ ranges = true, etag = true, cut, contentRange, announce = true } = {}) {
  return (request, answer, server) => {
    const { data } = server;
    const asked = /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
    const same = [undefined, server.etag].includes(/** @type {any} */ (request.headers["if-range"]));
    const start = ranges && asked && same ? Number(asked[1]) : 0;
    if (start >= data.length) return void answer.writeHead(416).end();
    const rest = data.subarray(start);
    if (etag) answer.setHeader("ETag", server.etag);
    if (start)
      answer.setHeader("Content-Range", contentRange ?? `bytes ${start}-${data.length - 1}/${data.length}`);
    if (announce) answer.setHeader("Content-Length", rest.length);
    answer.writeHead(start ? 206 : 200);
    server.send(answer, rest.subarray(0, cut));
    if (cut === undefined) answer.end();
    // Once the bytes are out: the client must have them before the connection ends.
    else answer.write("", () => setTimeout(() => answer.destroy(), 30));
  };
}

/**
 * @param {number} status
 * @param {string} [body]
 * @param {Record<string, string>} [headers]
 * @returns {Behaviour}
 */
export function says(status, body = "", headers = {}) {
  return (_, answer) => answer.writeHead(status, headers).end(body);
}
