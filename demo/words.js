/**
 * What the package's names and numbers are called on the page.
 * @module
 */

/** Tiers in the order in which they are tried. @type {Record<string, {name: string, what: string}>} */
export const TIERS = {
  webgpu: { name: "WebGPU", what: "on your graphics card" },
  wasm: { name: "WASM", what: "on your processor" },
  api: { name: "API", what: "on a server" },
};

/** @type {Record<string, string>} */
const DTYPES = {
  fp32: "32-bit weights",
  fp16: "16-bit weights",
  q8: "8-bit weights",
  q4: "4-bit weights",
  q4f16: "4-bit weights",
};

/** @param {string | null | undefined} tier */
export function tierName(tier) {
  return TIERS[tier ?? ""]?.name ?? tier ?? "no tier";
}

/** @param {string | null} dtype */
export function dtypeWords(dtype) {
  return dtype ? `${DTYPES[dtype] ?? "weights"} (${dtype})` : "";
}

/**
 * Never "100 %" for what is less, nor "0 %" for what is more.
 * @param {number} score
 */
export function percent(score) {
  if (score < 1 && score >= 0.9995) return "> 99.9 %";
  if (score > 0 && score < 0.0005) return "< 0.1 %";
  return `${(score * 100).toFixed(1)} %`;
}

/** @param {number} ms */
export function duration(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** @param {number} bytes */
export function bytesWords(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 2 ** (10 * power);
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} ${units[power]}`;
}
