/**
 * What the shim needs from Node.
 *
 * @import { Build, Platform, Port } from '../web/lib/messages.js'
 */

import { createReadStream } from 'node:fs';
import { readFile, stat, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import { keeper } from '../web/lib/kept.js';
import { socketLock } from './lock.js';
import { cacheFolder, diskStore } from './store-disk.js';

/** @type {import('../web/lib/messages.js').Storage} */
export const storage = {
  stores: async () => [await diskStore()].filter((store) => store !== null),
  room: async () => {
    const { bsize, bavail } = await statfs(cacheFolder()).catch(() => ({ bsize: 0, bavail: 0 }));
    const kept = await keeper(storage).list();
    const usage = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    return { usage, quota: usage + bsize * bavail, persisted: true };
  },
};

/** @type {Platform} */
export const platform = {
  page: false,
  forced: /** @type {Build | null} */ (process.env.WICK_BUILD || null),
  cores: () => availableParallelism(),
  noThreads: () => null,
  noRelaxed: () =>
    Number(process.versions.node.split('.')[0]) >= 22
      ? null
      : `Node ${process.versions.node} computes relaxed SIMD wrongly; Node 22 is right`,
  // The program's own flags are not the worker's: --input-type, --import ... would break it.
  spawn: (kind) =>
    workerPort(new Worker(new URL(`./${kind}-worker.js`, import.meta.url), { execArgv: [] })),
  compile: async (build) =>
    WebAssembly.compile(
      await readFile(new URL(`../dist/wasm/wick-${build}.wasm`, import.meta.url)),
    ),
  // A message to oneself would starve the other ports: Node handles a thousand of one port in a row.
  turns: () => () => new Promise((resolve) => setImmediate(resolve)),
  store: diskStore,
  lock: socketLock,
  // Node sends any header anywhere, and sees all that come back.
  sameOrigin: () => true,
  open: async (path) => {
    const { size } = await stat(path);
    return { size, stream: () => createReadStream(path, { highWaterMark: 1 << 20 }) };
  },
};

/**
 * A worker's side of the port to who started it.
 * @returns {Port}
 */
export function ownPort() {
  const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
  return {
    post: (message, transfer = []) => port.postMessage(message, /** @type {any} */ (transfer)),
    onMessage: (listener) => {
      port.on('message', listener);
    },
    onError: () => {},
    terminate: () => process.exit(),
  };
}

/**
 * @param {Worker} worker
 * @returns {Port}
 */
function workerPort(worker) {
  return {
    post: (message, transfer = []) => worker.postMessage(message, /** @type {any} */ (transfer)),
    onMessage: (listener) => {
      worker.removeAllListeners('message').on('message', listener);
    },
    onError: (listener) => {
      worker.removeAllListeners('error').on('error', listener);
      worker.removeAllListeners('exit').on('exit', (status) => {
        listener(new Error(`wick: a worker ended by itself, with status ${status}`));
      });
    },
    hold: (on) => (on ? worker.ref() : worker.unref()),
    terminate: () => worker.terminate(),
  };
}
