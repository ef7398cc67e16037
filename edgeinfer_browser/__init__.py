"""Run ONNX models from Python in the browser: WebGPU, then WASM, then your API."""
