/**
 * Opens the files of a model: on this machine, in a Blob, or on a server (fetch-file.js); a
 * manifest or an index of shards stands for the files that it names.
 *
 * @import { EngineSettings, FileReport, Part, Platform, Progress } from './messages.js'
 * @import { Context } from './fetch-file.js'
 */

import { RemoteFile } from './fetch-file.js';
import { FetchError } from './fetch-stream.js';
import { partsOfManifest } from './manifest.js';
import { inOrder, shardsOf } from './sources.js';
import { chunksOf } from './store.js';

/** Of an address that holds the bytes themselves. */
const SHOWN_CHARACTERS = 80;

/**
 * @typedef {object} Opened One file, wherever it comes from.
 * @property {Part} part
 * @property {string} source For messages: the URL, path or name.
 * @property {number} size Of a server's file right only once it is ready.
 * @property {() => Promise<void>} ready Before each read.
 * @property {() => AsyncIterable<Uint8Array>} read From the first byte.
 * @property {(sha256: string | null) => Promise<void>} accept All was read; throws if it is not
 *   what was expected.
 * @property {(error: unknown) => Promise<boolean>} reject Whether reading again may help.
 * @property {() => FileReport} report
 */

/** Its bytes are here. @implements {Opened} */
class LocalFile {
  #stream;
  #milliseconds = 0;
  #began = performance.now();

  /**
   * @param {Part} part
   * @param {string} source
   * @param {{ size: number, stream: () => ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>
   *   }} file
   */
  constructor(part, source, { size, stream }) {
    this.part = part;
    this.source = source;
    this.size = size;
    this.#stream = stream;
  }

  async ready() {
    this.#began = performance.now();
  }

  read() {
    return chunksOf(this.#stream());
  }

  async accept() {
    this.#milliseconds = performance.now() - this.#began;
  }

  async reject() {
    return false;
  }

  report() {
    return {
      file: this.source,
      bytes: this.size,
      storeBytes: 0,
      networkBytes: 0,
      requests: 0,
      restarts: 0,
      kept: null,
      note: '',
      milliseconds: this.#milliseconds,
    };
  }
}

/**
 * Opens every part; missing optional ones are left out.
 * @param {Part[]} parts
 * @param {Platform} platform
 * @param {EngineSettings} settings
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<Opened[]>}
 */
export async function openParts(parts, platform, settings, onProgress) {
  const remote = parts.some(({ url }) => url && /^https?:/i.test(url));
  const keep = settings.keep ?? true;
  const store = remote && keep ? await platform.store(keep) : null;
  /** @type {Context} */
  const context = {
    store,
    noStore: keep ? 'not kept: no storage here for this page' : '',
    lock: platform.lock,
    sameOrigin: platform.sameOrigin,
    network: settings.network ?? {},
    onWait: (file) => onProgress({ phase: 'waiting', loaded: 0, total: 0, file }),
    onBytes: (loaded, file) => onProgress({ phase: 'weights', loaded, total: 0, file }),
  };
  const listed = await expand(parts, context);
  const alone = listed.filter(isLarge).length === 1;
  /** @type {Opened[]} */
  const opened = [];
  for (const part of listed) {
    const one = await naming(part, () => openPart(part, platform, context, alone));
    if (one) opened.push(one);
  }
  return opened;
}

/** @param {Opened[]} files */
export const bytesOf = (files) => files.reduce((sum, { size }) => sum + size, 0);

/** Weights, as against the small files beside them. @param {Part} part */
const isLarge = ({ name }) => /\.(gguf|safetensors)$/i.test(name);

/**
 * @param {Part} part
 * @param {Platform} platform
 * @param {Context} context
 * @param {boolean} alone
 * @returns {Promise<Opened | null>}
 */
async function openPart(part, platform, context, alone) {
  const { path, blob, name } = part;
  if (blob) return new LocalFile(part, name, { size: blob.size, stream: () => blob.stream() });
  if (path) {
    const file = await platform.open(path).catch((error) => {
      if (part.optional) return null;
      throw new Error(`expected a readable file, found ${error.code ?? error.message}`);
    });
    return file && new LocalFile(part, path, file);
  }
  if (!/^https?:/i.test(String(part.url))) return openHere(part);
  const file = new RemoteFile(part, context);
  return (await (isLarge(part) ? file.open(alone) : file.gather())) ? file : null;
}

/** A blob: or data: address: its bytes are on this machine already. @param {Part} part */
async function openHere(part) {
  const url = String(part.url);
  const blob = await (await fetch(url)).blob();
  const source = url.slice(0, SHOWN_CHARACTERS);
  return new LocalFile(part, source, { size: blob.size, stream: () => blob.stream() });
}

/**
 * Puts the files that lists name in the lists' places.
 * @param {Part[]} parts
 * @param {Context} context
 */
async function expand(parts, context) {
  /** @type {Part[]} */
  const all = [];
  for (const part of parts) {
    if (!part.list) all.push(part);
    else all.push(...(await naming(part, () => readList(part, context))));
  }
  return all;
}

/**
 * @param {Part} part
 * @param {Context} context
 * @returns {Promise<Part[]>}
 */
async function readList(part, context) {
  const url = String(part.url);
  const file = new RemoteFile(part, context);
  if (!(await file.gather())) return [beside('model.safetensors', url)];
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of file.read()) text += decoder.decode(bytes, { stream: true });
  try {
    if (part.list === 'index') return shardsOf(text, url).map((name) => beside(name, url));
    return inOrder(partsOfManifest(text, url), url);
  } catch (error) {
    await file.reject(error);
    throw error;
  }
}

/** @param {string} name @param {string} url @returns {Part} */
const beside = (name, url) => ({ name, url: new URL(encodeURIComponent(name), url).href });

/**
 * An error's message begins with where the file is.
 * @template T
 * @param {Part} part
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
async function naming({ url, path, name }, action) {
  try {
    return await action();
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    const source = url ?? path ?? name;
    if (message.startsWith(`${source}: `) || message.startsWith(`wick: ${source}: `)) throw error;
    const text = `${source}: ${message}`;
    throw error instanceof FetchError ? new FetchError(error.kind, text) : new Error(text);
  }
}
