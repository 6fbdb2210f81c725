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
 *   wasm?: WebAssembly.Module,
 * }} LoadOptions wasm: a module of the build that `build` names, where hosts compile none.
 */

/**
 * @param {Platform} platform
 * @param {Part[]} parts
 * @param {LoadOptions} options
 * @returns {Promise<Model>}
 */
export async function loadParts(platform, parts, options) {
  checkLoadOptions(options);
  const { signal, onProgress, wasm, ...settings } = options;
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
    return new Model(port, threads, info, stop);
  } catch (error) {
    for (const each of [port, ...threads]) each.terminate();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
