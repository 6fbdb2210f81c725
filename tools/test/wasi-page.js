// The page's side of page.mjs. The arguments are JSON in the URL's hash; ended({ status, stdout })
// is given by the other side.
import { runProgram } from './wasi.js';

const args = JSON.parse(decodeURIComponent(globalThis.location.hash.slice(1)));
const decoder = new TextDecoder();
let stdout = '';
let status = 1;
try {
  const module = await WebAssembly.compileStreaming(fetch('./program.wasm'));
  status = await runProgram(module, args, {
    write: (bytes) => (stdout += decoder.decode(bytes, { stream: true })),
    milliseconds: () => performance.now(),
  });
} catch (error) {
  stdout += `${error}\n`;
}
/** @type {any} */ (globalThis).ended({ status, stdout });
