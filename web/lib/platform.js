/**
 * What the shim needs from a browser. Nothing here is touched before a model is loaded.
 *
 * @import { Build, Platform, Port } from './messages.js'
 */

import { cacheStore } from './store-cache.js';
import { opfsStore } from './store-opfs.js';

/** Literal addresses: bundlers find and move these files. @type {Record<Build, () => URL>} */
const WASM = {
  st: () => new URL('../../dist/wasm/wick-st.wasm', import.meta.url),
  mt: () => new URL('../../dist/wasm/wick-mt.wasm', import.meta.url),
  'st-relaxed': () => new URL('../../dist/wasm/wick-st-relaxed.wasm', import.meta.url),
  'mt-relaxed': () => new URL('../../dist/wasm/wick-mt-relaxed.wasm', import.meta.url),
};

/** @type {import('./messages.js').Storage} */
export const storage = {
  stores: async () => {
    const stores = await Promise.all([opfsStore(), cacheStore()]);
    return stores.filter((store) => store !== null);
  },
  room: async () => {
    const { usage = 0, quota = 0 } = (await navigator.storage?.estimate()) ?? {};
    return { usage, quota, persisted: (await navigator.storage?.persisted?.()) ?? false };
  },
};

/**
 * Asks the browser not to clear what was kept when room runs short; it may say no.
 * @returns {Promise<boolean>} Whether it will not.
 */
export async function persist() {
  const { storage } = navigator;
  if (!storage?.persist) return false;
  return (await storage.persisted()) || storage.persist();
}

/** @type {Platform} */
export const platform = {
  page: true,
  forced: null,
  cores: () => navigator.hardwareConcurrency || 1,
  noRelaxed: () => null,
  noThreads: () =>
    globalThis.crossOriginIsolated
      ? null
      : 'this page is not cross-origin isolated; with the headers ' +
        'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp ' +
        'it would use more threads',
  spawn: (kind) =>
    workerPort(
      kind === 'engine'
        ? new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
        : new Worker(new URL('./thread.js', import.meta.url), { type: 'module' }),
    ),
  compile: async (build) => {
    const url = WASM[build]();
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: expected status 200, found ${response.status}`);
    if (response.headers.get('content-type') === 'application/wasm')
      return WebAssembly.compileStreaming(response);
    return WebAssembly.compile(await response.arrayBuffer());
  },
  // By a message to oneself: timers would be clamped to 4 ms.
  turns: () => {
    const { port1, port2 } = new MessageChannel();
    /** @type {(() => void)[]} */
    const waiting = [];
    port1.onmessage = () => waiting.shift()?.();
    return () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        port2.postMessage(null);
      });
  },
  store: async (keep) => (keep === 'cache' ? null : await opfsStore()) ?? cacheStore(),
  lock: webLock,
  sameOrigin: (url) => new URL(url).origin === location.origin,
  open: () => Promise.reject(new Error('a page reads no paths')),
};

/**
 * A worker's side of the port to who started it.
 * @returns {Port}
 */
export function ownPort() {
  const scope = /** @type {any} */ (globalThis);
  let held = Promise.resolve();
  return {
    post: (message, transfer = []) => scope.postMessage(message, transfer),
    onMessage: (listener) => {
      scope.onmessage = async (/** @type {MessageEvent} */ { data }) => {
        if (data.type === 'hold') return void (held = hold(data.lock));
        await held;
        listener(data);
      };
    },
    onError: () => {},
    terminate: () => scope.close(),
  };
}

/**
 * Holds a lock for as long as this worker lives.
 * @param {string} lock
 * @returns {Promise<void>} Resolved as soon as it is held.
 */
function hold(lock) {
  return new Promise((resolve) => {
    const forever = () => {
      resolve();
      return new Promise(() => {});
    };
    navigator.locks.request(lock, forever).catch(() => resolve());
  });
}

/**
 * @param {Worker} worker
 * @returns {Port}
 */
function workerPort(worker) {
  // No event tells that a browser has ended a worker. But the worker holds a lock while it lives;
  // where pages have no locks (plain http) its end goes unnoticed.
  const lock = globalThis.isSecureContext && navigator.locks ? crypto.randomUUID() : null;
  if (lock) worker.postMessage({ type: 'hold', lock });
  let watched = false;
  let ended = false;
  let fail = (/** @type {Error} */ _error) => {};
  const watch = () => {
    watched = true;
    const gone = () => {
      if (!ended) fail(new Error('wick: a worker was ended by the browser'));
    };
    if (lock) navigator.locks.request(lock, gone).catch(() => {});
  };
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    onMessage: (listener) => {
      worker.onmessage = ({ data }) => {
        if (!watched) watch(); // what speaks holds its lock
        listener(data);
      };
    },
    onError: (listener) => {
      fail = listener;
      worker.onerror = (event) => {
        event.preventDefault();
        listener(new Error(`wick: the worker failed: ${event.message ?? 'it did not start'}`));
      };
    },
    terminate: () => {
      ended = true;
      worker.terminate();
    },
  };
}

/**
 * Shared by all tabs; a worker that ends lets go.
 * @param {string} name
 * @param {() => void} onWait
 * @returns {Promise<() => void>}
 */
async function webLock(name, onWait) {
  if (!navigator.locks) return () => {};
  /** @param {boolean} ifAvailable @returns {Promise<(() => void) | null>} */
  const request = (ifAvailable) =>
    new Promise((resolve, reject) => {
      const hold = (/** @type {Lock | null} */ lock) =>
        lock
          ? new Promise((/** @type {(value: void) => void} */ release) => resolve(release))
          : resolve(null);
      navigator.locks.request(name, { ifAvailable }, hold).catch(reject);
    });
  const release = await request(true);
  if (release) return release;
  onWait();
  return /** @type {() => void} */ (await request(false));
}
