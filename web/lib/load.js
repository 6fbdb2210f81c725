/**
 * Loading, on the caller's side: starts the worker that owns the engine, and the engine's threads.
 * All workers are the caller's own: Chromium leaks a worker that is ended while one that it had
 * started itself is ending.
 *
 * @import { EngineSettings, FromWorker, Info, Part, Platform, Port, Progress } from './messages.js'
 */

import { checkLoadOptions } from './check.js';
import { Model } from './client.js';
import { startThreads, stopperOf } from './threads.js';

/**
 * @typedef {EngineSettings & {
 *   signal?: AbortSignal,
 *   onProgress?: (progress: Progress) => void,
 *   onLost?: (loss: Loss) => void,
 *   wasm?: WebAssembly.Module,
 * }} LoadOptions onLost: told when a worker has died or can't be trusted. wasm: a module of the
 *   build that `build` names, where hosts compile none.
 *
 * @typedef {object} Loss
 * @property {string} reason
 * @property {boolean} restarting Whether the model is being loaded again (onProgress tells how far);
 *   else it is over.
 *
 * @typedef {object} Started A loaded engine in its workers.
 * @property {Port} port
 * @property {Port[]} threads The pool's, for freeing.
 * @property {Info} info
 * @property {((request: number) => void) | null} stop
 */

/**
 * @param {Platform} platform
 * @param {Part[]} parts
 * @param {LoadOptions} options
 * @returns {Promise<Model>}
 */
export async function loadParts(platform, parts, options) {
  checkLoadOptions(options);
  const { signal, onLost, ...rest } = options;
  // Bytes that lie in memory only are not held back for a second reading.
  const lasting = parts.every(({ url, path, blob }) => url || path || blob instanceof File);
  /** @param {AbortSignal} [signal] */
  const start = (signal) => startEngine(platform, parts, { ...rest, signal });
  return new Model(await start(signal), lasting ? start : null, onLost);
}

/**
 * @param {Platform} platform
 * @param {Part[]} parts
 * @param {Omit<LoadOptions, 'onLost'>} options
 * @returns {Promise<Started>}
 */
async function startEngine(platform, parts, { signal, onProgress, wasm, ...settings }) {
  signal?.throwIfAborted();
  const port = platform.spawn('engine');
  /** @type {Port[]} */
  const threads = [];
  /** @type {((request: number) => void) | null} */
  let stop = null;
  /** @type {() => void} */
  let abort = () => {};
  try {
    const info = await new Promise((/** @type {(info: Info) => void} */ resolve, reject) => {
      abort = () => reject(signal?.reason);
      signal?.addEventListener('abort', abort);
      port.onError(reject);
      port.onMessage(async (/** @type {FromWorker} */ message) => {
        if (message.type === 'progress') onProgress?.(message.progress);
        if (message.type === 'failed') reject(new Error(message.message));
        if (message.type === 'loaded') resolve(message.info);
        if (message.type !== 'pool') return;
        const starting = startThreads(platform, message, threads);
        stop = await stopperOf(message);
        port.post({ type: 'joined', count: await starting });
      });
      port.post({ type: 'load', parts, settings, wasm: wasm ?? null });
    });
    const { fileBytes } = info;
    onProgress?.({ phase: 'ready', loaded: fileBytes, total: fileBytes, file: '' });
    return { port, threads, info, stop };
  } catch (error) {
    for (const each of [port, ...threads]) each.terminate();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
