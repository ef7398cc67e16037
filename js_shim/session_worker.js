/**
 * The session worker: one onnxruntime-web module instance, one InferenceSession, one execution provider. Runs are
 * queued, one at a time, and a rejected run does not hold up the next.
 * @module
 */
import { ShimError, toFields } from "./shim_error.js";
import { packOutputs, unpackFeeds } from "./tensor_frame.js";

/** @typedef {import("./protocol").SessionRequest} SessionRequest */

/** @type {any} */
let ort;
/** @type {any} */
let session;
/** Names of the outputs that runs give. @type {string[]} */
let fetches = [];
/** @type {Promise<unknown>} */
let tail = Promise.resolve();
/** The linear memories that the runtime made in this worker. @type {WebAssembly.Memory[]} */
const memories = [];

addEventListener("message", ({ data }) => {
  tail = tail.then(() => answer(data));
});

/** @param {SessionRequest} request */
async function answer(request) {
  try {
    const value = await handle(request);
    const transfer = value.payload ? [value.payload.buffer] : [];
    postMessage({ id: request.id, value }, { transfer });
  } catch (error) {
    postMessage({
      id: request.id,
      error: toFields(error, request.type === "create" ? "SessionError" : "RunError"),
    });
  }
}

/**
 * @param {SessionRequest} request
 * @returns {Promise<any>}
 */
function handle(request) {
  if (request.type === "create") return create(request);
  if (request.type === "memory") return Promise.resolve({ wasmBytes: wasmBytes() });
  const feeds = unpackFeeds(ort, request.tensors, request.payload);
  return request.type === "run" ? run(feeds) : time(feeds, request.runs);
}

/** @param {Extract<SessionRequest, {type: "create"}>} request */
async function create({ executionProvider, moduleUrl, wasmUrl, files, outputs = [] }) {
  const [[model, ...data]] = await Promise.all([readAll(files), start(moduleUrl, wasmUrl)]);
  try {
    session = await ort.InferenceSession.create(model.data, {
      executionProviders: [executionProvider],
      externalData: data,
      logSeverityLevel: 3, // errors only: that some nodes run on the CPU is no news to a page's user
    });
  } catch (error) {
    throw (await diagnose(moduleUrl, wasmUrl)) ?? error;
  }
  fetches = outputs.length ? outputs : session.outputNames;
  return {
    inputNames: session.inputNames,
    outputNames: session.outputNames,
    version: ort.env.versions.web,
    wasmBytes: wasmBytes(),
  };
}

/**
 * ONNX Runtime does not say how much memory it has, but it makes its one memory by `new WebAssembly.Memory` in
 * this realm, which has nothing else in it.
 */
function keepMemories() {
  WebAssembly.Memory = class extends WebAssembly.Memory {
    /** @param {WebAssembly.MemoryDescriptor} descriptor */
    constructor(descriptor) {
      super(descriptor);
      memories.push(this);
    }
  };
}

/** Bytes of WASM linear memory; it only ever grows, so this is the peak as well. */
function wasmBytes() {
  return memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
}

/** @param {{path: string, blob: Blob}[]} files the .onnx file first; ONNX Runtime names data relative to it */
function readAll(files) {
  const folder = files[0].path.slice(0, files[0].path.lastIndexOf("/") + 1);
  return Promise.all(
    files.map(async ({ path, blob }) => ({
      path: path.startsWith(folder) ? path.slice(folder.length) : path,
      data: new Uint8Array(await blob.arrayBuffer()),
    })),
  );
}

/**
 * @param {string} moduleUrl
 * @param {string} wasmUrl
 */
async function start(moduleUrl, wasmUrl) {
  keepMemories();
  try {
    ort = await import(/* @vite-ignore */ moduleUrl);
  } catch (error) {
    throw (await diagnose(moduleUrl, wasmUrl)) ?? error;
  }
  ort.env.logLevel = "error";
  ort.env.wasm.wasmPaths = { wasm: wasmUrl };
  ort.env.wasm.numThreads = 1; // a batch spreads over sessions instead
}

/**
 * ONNX Runtime's own message for a missing runtime file names neither the file nor the cause.
 * @param {...string} urls
 */
async function diagnose(...urls) {
  for (const url of urls) {
    const response = await fetch(url).catch((error) => String(error));
    const wrong = typeof response === "string" ? response : whatIsWrong(response);
    if (wrong)
      return new ShimError("SessionError", `The runtime file ${url} cannot be used: ${wrong}.`, { url });
  }
  return null;
}

/** @param {Response} response */
function whatIsWrong(response) {
  void response.body?.cancel();
  if (!response.ok) return `the server answered ${response.status}`;
  const type = response.headers.get("content-type") ?? "";
  return type.startsWith("text/html") ? "the server answered with an HTML page" : "";
}

/** @param {Record<string, any>} feeds */
async function run(feeds) {
  const outputs = await session.run(feeds, fetches);
  try {
    return packOutputs(outputs);
  } finally {
    dispose(outputs);
    dispose(feeds);
  }
}

/**
 * Time `runs` runs as JavaScript does them, for the benchmark that says what Python adds. Milliseconds each.
 * @param {Record<string, any>} feeds
 * @param {number} runs
 */
async function time(feeds, runs) {
  const milliseconds = [];
  for (let index = 0; index < runs; index++) {
    const before = performance.now();
    const outputs = await session.run(feeds, fetches);
    milliseconds.push(performance.now() - before);
    dispose(outputs);
  }
  return { milliseconds };
}

/** @param {Record<string, any>} tensors */
function dispose(tensors) {
  for (const tensor of Object.values(tensors)) tensor.dispose();
}
