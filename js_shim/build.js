/**
 * Builds the JavaScript: into the Python package (`edgeinfer_browser/_shim/`, which the wheel carries) and, with
 * `node js_shim/build.js runtime WHEEL OUT`, a runtime folder that a page can be given: client, workers, wheel,
 * Pyodide, and the onnxruntime-web files of each tier.
 * @module
 */
import { cp, mkdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);

const PYODIDE_FILES = [
  "pyodide.mjs",
  "pyodide.asm.mjs",
  "pyodide.asm.wasm",
  "python_stdlib.zip",
  "pyodide-lock.json",
];
const ORT_FILES = [
  "ort.wasm.bundle.min.mjs",
  "ort-wasm-simd-threaded.wasm",
  "ort.jspi.bundle.min.mjs",
  "ort-wasm-simd-threaded.jspi.wasm",
  "ort.webgpu.bundle.min.mjs",
  "ort-wasm-simd-threaded.asyncify.wasm",
];

/**
 * @param {string[]} names entry points, without .js
 * @param {string} outdir
 * @param {string} wheel file name of the wheel
 */
async function bundle(names, outdir, wheel = "") {
  await build({
    entryPoints: names.map((name) => path.join(here, `${name}.js`)),
    outdir,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "eof", // the licence of what is bundled stays with it
    define: { "globalThis.EDGEINFER_WHEEL": JSON.stringify(wheel) },
  });
}

/**
 * @param {string[]} names
 * @param {string} from
 * @param {string} to
 */
async function copy(names, from, to) {
  await mkdir(to, { recursive: true });
  for (const name of names) {
    const [source, target] = [path.join(from, name), path.join(to, name)];
    const [now, then] = [await stat(source), await stat(target).catch(() => null)];
    if (then?.size !== now.size || then.mtimeMs < now.mtimeMs) await cp(source, target);
  }
}

const [what, wheel, out] = process.argv.slice(2);
if (what === "runtime") {
  await bundle(["edgeinfer", "python_worker", "session_worker"], out, path.basename(wheel));
  await copy(PYODIDE_FILES, path.join(root, "node_modules/pyodide"), path.join(out, "pyodide"));
  await copy(ORT_FILES, path.join(root, "node_modules/onnxruntime-web/dist"), path.join(out, "ort"));
  await copy([path.basename(wheel)], path.dirname(wheel), out);
} else {
  const target = path.join(root, "edgeinfer_browser/_shim");
  await rm(target, { recursive: true, force: true });
  await bundle(["shim", "session_worker"], target);
}
