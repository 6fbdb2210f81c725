// Runs a stand-alone WebAssembly program: node tools/test/wasi.mjs PROGRAM.wasm [ARGUMENT ...]
import { readFileSync, writeSync } from 'node:fs';
import { runProgram } from './wasi.js';

/** @param {boolean} ofProcessor */
function milliseconds(ofProcessor) {
  if (!ofProcessor) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** @param {Uint8Array} bytes */
function write(bytes) {
  for (let n = 0; n < bytes.length;) n += writeSync(1, bytes, n);
}

const module = await WebAssembly.compile(readFileSync(process.argv[2]));
process.exitCode = await runProgram(module, process.argv.slice(3), { write, milliseconds });
