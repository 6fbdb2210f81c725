/**
 * The extra threads of an engine on shared memory. Each is a worker with an instance of the same
 * module and a stack of its own. One that does not start within the time-out is done without: the
 * engine never waits for a thread that has not joined.
 *
 * @import { Platform, Pool, Port, ThreadStart } from './messages.js'
 */

import { instantiate } from './wasm.js';

const START_MILLISECONDS = 5000;

/**
 * @param {Platform} platform
 * @param {Pool} pool
 * @param {Port[]} ports Out: every worker that was started.
 * @returns {Promise<number>} How many run.
 */
export async function startThreads(platform, { stacks, ...start }, ports) {
  const starts = stacks.slice(1).map((stack) => {
    const port = platform.spawn('thread');
    ports.push(port);
    return startThread(port, { ...start, stack });
  });
  return (await Promise.all(starts)).filter(Boolean).length;
}

/**
 * @param {Port} port
 * @param {ThreadStart} message
 * @returns {Promise<boolean>} Whether it runs.
 */
function startThread(port, message) {
  return new Promise((resolve) => {
    /** @param {boolean} runs */
    const end = (runs) => {
      clearTimeout(timer);
      if (!runs) port.terminate();
      resolve(runs);
    };
    const timer = setTimeout(() => end(false), START_MILLISECONDS);
    port.onMessage(() => end(true));
    port.onError(() => end(false));
    port.post(message);
    port.hold?.(false);
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

/**
 * On shared memory a cancel need not wait for the worker to look at its messages: the caller has
 * an instance too.
 * @param {Pool} pool
 * @returns {Promise<(request: number) => void>}
 */
export async function stopperOf({ module, memory, stacks, engine }) {
  const exports = await instantiate(module, memory, stacks[0]);
  return (request) => exports.wick_engine_cancel(engine, request);
}
