/** What crosses a boundary: page <-> Python worker <-> shim <-> session worker. Types only, no code. */

/** One shape for every answer to Python; `error` is "" or the JSON of {@link ErrorFields}. */
export interface Reply {
  error: string;
  json: string;
  payload: Uint8Array;
}

/** An error on its way; `name` is a class of `edgeinfer_browser/errors.py` where one fits. */
export interface ErrorFields {
  name: string;
  message: string;
  details: Record<string, unknown>;
}

/** Called with bytes loaded and bytes in total (0 when not known). */
export type OnProgress = (loaded: number, total: number) => void;

/** A shim method: JSON and bytes in; `call` numbers it for `abort`. Never rejects. */
export type ShimMethod = (
  json: string,
  payload?: Uint8Array,
  call?: number,
  onProgress?: OnProgress,
) => Promise<Reply>;

/** The one object that Python is given. */
export interface Shim {
  probe: ShimMethod;
  runtimeUrl: ShimMethod;
  absoluteUrl: ShimMethod;
  fetchFile: ShimMethod;
  fetchToCache: ShimMethod;
  forgetOldRevisions: ShimMethod;
  createSession: ShimMethod;
  run: ShimMethod;
  timeSession: ShimMethod;
  release: ShimMethod;
  request: ShimMethod;
  recall: ShimMethod;
  remember: ShimMethod;
  abort(call: number): void;
}

export interface ShimConfig {
  /** Script of the session worker: same origin, or a Blob URL. */
  sessionWorkerUrl: string;
  /** Folder that has `ort/` in it; without it, the folder the wheel came from. */
  runtimeUrl?: string;
}

/** A file to have: size and sha256 are 0 and "" when nobody knows them. */
export interface FileSpec {
  url: string;
  sha256: string;
  bytes: number;
  /** Seconds without a byte that are too many. */
  timeout: number;
}

/** What was given up to get the right answer all the same, as a sentence for the user. */
export interface Notice {
  kind:
    | "cache_unavailable"
    | "quota_exceeded"
    | "cache_write_failed"
    | "cache_entry_damaged"
    | "metric_sink_dropped";
  message: string;
}

/** What the probe saw; every field is a fact, the meaning is given by `edgeinfer_browser/capabilities.py`. */
export interface Facts {
  host: "window" | "worker";
  secureContext: boolean;
  crossOriginIsolated: boolean;
  workers: boolean;
  cores: number | null;
  deviceMemory: number | null;
  gpu: GpuFacts;
  wasm: WasmFacts;
  storage: StorageFacts;
  network: NetworkFacts;
}

export interface GpuFacts {
  present: boolean;
  adapter?: boolean;
  isFallbackAdapter?: boolean;
  info?: { vendor: string; architecture: string; device: string; description: string };
  features?: string[];
  limits?: { maxBufferSize: number; maxStorageBufferBindingSize: number };
  /** The test buffer was really allocated. */
  buffer?: boolean;
  /** The test compute shader's answer was right. */
  compute?: boolean;
  /** The step that was under way when `error` came. */
  step?: string;
  error?: string;
}

export interface WasmFacts {
  compiles: boolean;
  error: string;
  simd: boolean;
  threads: boolean;
  jspi: boolean;
}

export interface StorageFacts {
  cacheApi: boolean;
  cacheError: string;
  quota: number | null;
  usage: number | null;
  persisted: boolean | null;
}

export interface NetworkFacts {
  online: boolean | null;
  saveData: boolean;
  effectiveType: string | null;
}

/** A tensor's place in a payload: the payload holds the tensors' bytes in the order of the list. */
export interface TensorEntry {
  name: string;
  dtype: string;
  dims: number[];
  bytes: number;
}

/** Python -> shim. Times are in seconds. */
export interface CreateArguments {
  executionProvider: "webgpu" | "wasm";
  moduleUrl: string;
  wasmUrl: string;
  files: { path: string; key: string }[];
  /** Names of the outputs that runs give; all when there is none. */
  outputs?: string[];
  timeout: number;
}

/** Shim -> session worker. The model's files come as Blobs, so no bytes are copied between threads. */
export type SessionRequest =
  | {
      type: "create";
      id: number;
      executionProvider: "webgpu" | "wasm";
      moduleUrl: string;
      wasmUrl: string;
      files: { path: string; blob: Blob }[];
      outputs?: string[];
    }
  | { type: "memory"; id: number }
  | { type: "run"; id: number; tensors: TensorEntry[]; payload: Uint8Array }
  | { type: "time"; id: number; tensors: TensorEntry[]; payload: Uint8Array; runs: number };

/** Session worker -> shim. */
export interface SessionAnswer {
  id: number;
  error?: ErrorFields;
  value?: unknown;
}

/** Page -> Python worker. */
export interface PageRequest {
  id: number;
  method: "boot" | "load" | "call" | "allHeads" | "dispose" | "bench";
  params: Record<string, unknown>;
}

/** Python worker -> page: an answer, or (without an id) an event. */
export interface PageAnswer {
  id?: number;
  result?: any;
  error?: ErrorFields;
  event?: { pipeline: number; progress: Progress };
  /** Of a call, when the page wants metrics; beside its result, or its error. */
  metric?: InferenceMetric;
  /** A model's file was cached: the time to ask for persistent storage, which workers cannot. */
  committed?: boolean;
}

/** One call, as `edgeinfer_browser/telemetry/metric.py` explains; times are milliseconds. */
export interface InferenceMetric {
  /** Seconds since the epoch. */
  timestamp: number;
  model: string;
  revision: string | null;
  task: string;
  tier: string | null;
  dtype: string | null;
  latency_ms: { tokenise: number; queue: number; run: number; post: number; total: number };
  tokens_in: number | null;
  items: number;
  cold_start: boolean;
  fallback: { from_tier: string; reason: string; added_ms: number } | null;
  confidence: number | null;
  error: string | null;
}

export interface Progress {
  stage: "python" | "probe" | "model" | "runtime" | "ready" | "attempt" | "notice";
  message: string;
  /** Of a notice. */
  kind?: Notice["kind"];
  loaded?: number;
  total?: number;
}

export interface Label {
  label: string;
  score: number;
}

/** One run of a model with heads; `embedding` is null where its graph gives none. */
export interface AllHeads {
  embedding: number[] | null;
  heads: Record<string, Label[]>;
}
