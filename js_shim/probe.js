/**
 * probe(): what this device can really do, found out by doing it once, each step under a time-out. Facts only; what
 * they mean is decided in Python (`capabilities.py`). No runtime file is needed for it.
 * @module
 */
import { within } from "./deadline.js";

/** @typedef {import("./protocol").Facts} Facts */
/** @typedef {import("./protocol").GpuFacts} GpuFacts */

const STEP_SECONDS = 5;
const TEST_BUFFER_BYTES = 64 * 2 ** 20;

/** A module that only has the header, and one with a function that uses a v128 (SIMD). */
const EMPTY_MODULE = [0, 97, 115, 109, 1, 0, 0, 0];
const SIMD_MODULE = [
  ...EMPTY_MODULE, // type () -> v128; one function: i32.const 0, i8x16.splat
  ...[1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11],
];

/** Each of 64 invocations squares its number; wrong hardware or a broken driver shows at once. */
const SHADER = `
  @group(0) @binding(0) var<storage, read_write> data: array<u32>;
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] = id.x * id.x + 1u; }
`;

/** @returns {Promise<Facts>} */
export async function probe() {
  const [gpu, storage] = await Promise.all([probeGpu(), probeStorage()]);
  return {
    host: typeof document === "undefined" ? "worker" : "window",
    secureContext: globalThis.isSecureContext ?? false,
    crossOriginIsolated: globalThis.crossOriginIsolated ?? false,
    workers: typeof Worker === "function",
    cores: navigator.hardwareConcurrency ?? null,
    deviceMemory: /** @type {{deviceMemory?: number}} */ (navigator).deviceMemory ?? null,
    gpu,
    wasm: probeWasm(),
    storage,
    network: probeNetwork(),
  };
}

export function probeNetwork() {
  const connection = /** @type {{connection?: {saveData?: boolean, effectiveType?: string}}} */ (navigator)
    .connection;
  return {
    online: navigator.onLine ?? null,
    saveData: connection?.saveData ?? false,
    effectiveType: connection?.effectiveType ?? null,
  };
}

/** @returns {import("./protocol").WasmFacts} */
export function probeWasm() {
  const none = { compiles: false, simd: false, threads: false, jspi: false };
  if (typeof WebAssembly !== "object") return { ...none, error: "" };
  try {
    new WebAssembly.Module(new Uint8Array(EMPTY_MODULE));
  } catch (error) {
    return { ...none, error: String(error) };
  }
  return {
    compiles: true,
    error: "",
    simd: WebAssembly.validate(new Uint8Array(SIMD_MODULE)),
    threads: canShareMemory(),
    jspi: "Suspending" in WebAssembly,
  };
}

function canShareMemory() {
  try {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    return typeof SharedArrayBuffer === "function" && memory.buffer instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}

/** @returns {Promise<import("./protocol").StorageFacts>} */
async function probeStorage() {
  const [cacheError, estimate, persisted] = await Promise.all([
    probeCache(),
    ask(() => navigator.storage.estimate()),
    ask(() => navigator.storage.persisted()),
  ]);
  const { quota, usage } = estimate ?? {};
  return { cacheApi: !cacheError, cacheError, quota: quota ?? null, usage: usage ?? null, persisted };
}

/** "" when the Cache API can be used, else why not. */
async function probeCache() {
  try {
    if (!globalThis.caches) return "There is no Cache API here (it needs a secure context).";
    await within(caches.has("edgeinfer-probe"), STEP_SECONDS, "caches.has");
    return "";
  } catch (error) {
    return `The Cache API refuses: ${error}`;
  }
}

/**
 * The answer, or null when the browser has no such thing or does not tell.
 * @template T
 * @param {() => Promise<T>} question
 */
async function ask(question) {
  try {
    return await within(question(), STEP_SECONDS, "navigator.storage");
  } catch {
    return null;
  }
}

/** @returns {Promise<GpuFacts>} */
async function probeGpu() {
  // Some engines have the property with the value null.
  if (!navigator.gpu) return { present: false };
  /** @type {GpuFacts} */
  const facts = { present: true };
  /** @type {GPUDevice | undefined} */
  let device;
  try {
    const adapter = await step(facts, "requestAdapter", navigator.gpu.requestAdapter());
    facts.adapter = adapter !== null;
    if (!adapter) return facts;
    Object.assign(facts, describe(adapter));
    device = await step(facts, "requestDevice", adapter.requestDevice());
    facts.buffer = await step(facts, "createBuffer", canAllocate(device));
    facts.compute = await step(facts, "compute shader", computesRightly(device));
  } catch (error) {
    facts.error = String(error);
  } finally {
    device?.destroy();
  }
  return facts;
}

/**
 * @template T
 * @param {GpuFacts} facts
 * @param {string} name
 * @param {Promise<T>} promise
 */
function step(facts, name, promise) {
  facts.step = name;
  return within(promise, STEP_SECONDS, name);
}

/** @param {GPUAdapter} adapter */
function describe(adapter) {
  // isFallbackAdapter moved from the adapter to its info; some engines have no info at all.
  const info = adapter.info ?? {};
  const { vendor = "", architecture = "", device = "", description = "" } = info;
  const old = /** @type {{isFallbackAdapter?: boolean}} */ (/** @type {unknown} */ (adapter))
    .isFallbackAdapter;
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  return {
    isFallbackAdapter: /** @type {{isFallbackAdapter?: boolean}} */ (info).isFallbackAdapter ?? old ?? false,
    info: { vendor, architecture, device, description },
    features: [...adapter.features],
    limits: { maxBufferSize, maxStorageBufferBindingSize },
  };
}

/** @param {GPUDevice} device */
async function canAllocate(device) {
  device.pushErrorScope("out-of-memory");
  device.pushErrorScope("validation");
  const buffer = device.createBuffer({ size: TEST_BUFFER_BYTES, usage: GPUBufferUsage.STORAGE });
  const errors = [await device.popErrorScope(), await device.popErrorScope()];
  buffer.destroy();
  return errors.every((error) => error === null);
}

/** @param {GPUDevice} device */
async function computesRightly(device) {
  const size = 64 * 4;
  const data = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
  const read = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const module = device.createShaderModule({ code: SHADER });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const entries = [{ binding: 0, resource: { buffer: data } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(data, 0, read, 0, size);
  device.queue.submit([encoder.finish()]);
  await read.mapAsync(GPUMapMode.READ);
  return new Uint32Array(read.getMappedRange()).every((value, index) => value === index * index + 1);
}
