/** What tests of the loader do in a page: load, and look at what is kept. */
import { openPage } from './support.mjs';

/** @typedef {import('playwright-core').Page} Page */

/**
 * A page of the site with nothing kept. Any will do; the chat page would load a model of its own.
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 */
export async function atPage(browser, url) {
  const opened = await openPage(browser);
  await opened.page.goto(new URL('/icon.svg', url).href);
  return opened;
}

/**
 * Runs a function in the page with the library; the page's policy allows no eval, evaluate runs
 * outside of it.
 * @template T, A
 * @param {Page} page
 * @param {(wick: typeof import('../../web/lib/index.js'), argument: A) => Promise<T>} body
 * @param {A} argument
 * @returns {Promise<T>}
 */
export function inPage(page, body, argument) {
  const program = `async (argument) => (${body})(await import('/lib/index.js'), argument)`;
  return page.evaluate(`(${program})(${JSON.stringify(argument)})`);
}

/**
 * Loads and frees a model.
 * @param {Page} page
 * @param {string} url
 * @param {import('../../web/lib/load.js').LoadOptions} [options]
 */
export async function loadIn(page, url, options = {}) {
  const result = await inPage(
    page,
    async ({ load }, { url, options }) => {
      /** @type {import('../../web/lib/messages.js').Progress[]} */
      const progress = [];
      try {
        const onProgress = (/** @type {any} */ seen) => progress.push(seen);
        const model = await load(url, { ...options, onProgress });
        const text = (await model.chat('abc', { raw: true, maxTokens: 8 })).text;
        await model.free();
        return { error: null, info: model.info, text, progress };
      } catch (error) {
        return { error: /** @type {Error} */ (error).message, info: null, text: '', progress };
      }
    },
    { url, options },
  );
  return { ...result, kept: await keptIn(page) };
}

/**
 * The files in the page's OPFS, without their journals.
 * @param {Page} page
 * @returns {Promise<{ name: string, size: number, sha256: string }[]>}
 */
export function keptIn(page) {
  return page.evaluate(async () => {
    const files = [];
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle('wick-models').catch(() => null);
    for await (const handle of /** @type {any} */ (folder)?.values() ?? []) {
      if (handle.name.endsWith('.journal')) continue;
      const bytes = await (await handle.getFile()).arrayBuffer();
      const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
      const sha256 = Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
      files.push({ name: handle.name, size: bytes.byteLength, sha256 });
    }
    return files;
  });
}

/**
 * Begins a load and returns once bytes arrive, or once the load waits for another one.
 * @param {Page} page
 * @param {string} url
 * @param {number} [beyond] More bytes than these must have arrived.
 */
export function beginIn(page, url, beyond = 0) {
  return inPage(
    page,
    ({ load }, { url, beyond }) =>
      new Promise((/** @type {(phase: string) => void} */ resolve, reject) => {
        const controller = new AbortController();
        const onProgress = (/** @type {any} */ { phase, loaded }) => {
          if (loaded > beyond || phase === 'waiting') resolve(phase);
        };
        const ended = load(url, { onProgress, signal: controller.signal });
        ended.catch(reject);
        Object.assign(globalThis, { begun: { controller, ended } });
      }),
    { url, beyond },
  );
}

/**
 * Waits for the load that began.
 * @param {Page} page
 * @param {boolean} [abort]
 */
export function endIn(page, abort = false) {
  return page.evaluate(async (abort) => {
    const { controller, ended } = /** @type {any} */ (globalThis).begun;
    if (abort) controller.abort();
    try {
      const model = await ended;
      const { text } = await model.chat('abc', { raw: true, maxTokens: 8 });
      await model.free();
      return { error: null, text, file: model.info.files[0] };
    } catch (error) {
      return { error: /** @type {Error} */ (error).name, text: '', file: null };
    }
  }, abort);
}

/**
 * Writes over a kept file.
 * @param {Page} page
 * @param {RegExp} pattern Of its name.
 * @param {number} at
 * @param {string} text
 * @param {number} [size] Cuts it to this afterwards.
 */
export function spoil(page, pattern, at, text, size) {
  return page.evaluate(
    async ({ source, at, text, size }) => {
      const root = await navigator.storage.getDirectory();
      const folder = await root.getDirectoryHandle('wick-models');
      for await (const handle of /** @type {any} */ (folder).values()) {
        if (!new RegExp(source).test(handle.name)) continue;
        const file = await handle.createWritable({ keepExistingData: true });
        await file.write({ type: 'write', position: at, data: text });
        if (size !== undefined) await file.truncate(size);
        await file.close();
      }
    },
    { source: pattern.source, at, text, size },
  );
}
