/**
 * Starts the extra threads of an engine on shared memory. Each is a worker with an instance of the
 * same module and a stack of its own. One that does not start within the time-out is done without:
 * the engine never waits for a thread that has not joined.
 *
 * @import { Platform, Port, ThreadStart } from './messages.js'
 * @import { Engine } from './engine.js'
 * @import { Wasm } from './wasm.js'
 */

import { instantiate } from './wasm.js';

const STACK_BYTES = 256 * 1024;
const START_MILLISECONDS = 5000;

/**
 * @param {Wasm} wasm
 * @returns {number} The upper end of a stack that stays for as long as the memory.
 */
export function newStack(wasm) {
  return ((wasm.allocate(STACK_BYTES) + STACK_BYTES) & ~15) >>> 0;
}

/**
 * @param {Platform} platform
 * @param {WebAssembly.Module} module
 * @param {Wasm} wasm
 * @param {Engine} engine
 * @param {number} count
 * @returns {Promise<number>} How many started.
 */
export async function startThreads(platform, module, wasm, engine, count) {
  const { memory } = wasm;
  const starts = Array.from({ length: count }, () =>
    startThread(platform.spawn('thread'), {
      module,
      memory,
      stack: newStack(wasm),
      engine: engine.pointer,
    }),
  );
  const started = await Promise.all(starts);
  return started.filter(Boolean).length;
}

/**
 * @param {Port} port
 * @param {ThreadStart} message
 * @returns {Promise<boolean>} Whether it started.
 */
function startThread(port, message) {
  return new Promise((resolve) => {
    const giveUp = () => {
      port.terminate();
      resolve(false);
    };
    const timer = setTimeout(giveUp, START_MILLISECONDS);
    port.onMessage(() => {
      clearTimeout(timer);
      resolve(true);
    });
    port.onError(() => {
      clearTimeout(timer);
      giveUp();
    });
    port.post(message);
  });
}

/**
 * The whole life of such a thread; returns when the engine is freed.
 * @param {ThreadStart} start
 * @param {() => void} ready
 */
export async function runThread({ module, memory, stack, engine }, ready) {
  const exports = await instantiate(module, memory, stack);
  ready();
  exports.wick_engine_worker(engine);
}
