/**
 * The extra threads of an engine on shared memory. Each is a worker with an instance of the same
 * module and a stack of its own. One that does not start within the time-out is done without: a
 * thread joins the engine only after the caller's word, so that none is ended that the engine waits
 * for.
 *
 * @import { Platform, Pool, Port, ThreadStart } from './messages.js'
 */

import { instantiate } from './wasm.js';

const START_MILLISECONDS = 5000;

/**
 * @param {Platform} platform
 * @param {Pool} pool
 * @param {Port[]} ports Out: every worker that was started; at the end those that join.
 * @returns {Promise<number>} How many join.
 */
export async function startThreads(platform, { module, memory, engine, stacks }, ports) {
  const starts = stacks.slice(1).map((stack) => {
    const port = platform.spawn('thread');
    ports.push(port);
    return startThread(port, { type: 'start', module, memory, engine, stack });
  });
  const runs = await Promise.all(starts);
  ports.splice(0, ports.length, ...ports.filter((_, i) => runs[i]));
  return ports.length;
}

/**
 * @param {Port} port
 * @param {Extract<ThreadStart, { type: 'start' }>} message
 * @returns {Promise<boolean>} Whether it joins.
 */
function startThread(port, message) {
  return new Promise((resolve) => {
    let ended = false;
    /** @param {boolean} runs */
    const end = (runs) => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      if (runs) port.post({ type: 'join' });
      else port.terminate();
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
 * The whole life of such a thread. It says that it is ready, and joins the engine when it is told to.
 * @param {Port} port
 */
export function serveThread(port) {
  /** @type {() => void} Returns when the engine is freed. */
  let join;
  port.onMessage(async (/** @type {ThreadStart} */ message) => {
    if (message.type === 'join') return join();
    const { module, memory, stack, engine } = message;
    const exports = await instantiate(module, memory, stack);
    join = () => exports.wick_engine_worker(engine);
    port.post('ready');
  });
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
