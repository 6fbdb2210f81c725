// Runs a stand-alone WebAssembly program: node tools/test/wasi.mjs PROGRAM.wasm [ARGUMENT ...]
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1', args: ['program', ...process.argv.slice(3)] });
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
const imports = /** @type {any} */ (wasi.getImportObject());
// What Emscripten adds to WASI.
imports.env = { emscripten_notify_memory_growth: () => {} };
process.exitCode = Number(wasi.start(await WebAssembly.instantiate(module, imports)));
