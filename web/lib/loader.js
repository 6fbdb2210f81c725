/**
 * Streams the files of a model into the engine as they arrive: a page's memory never holds a second
 * copy. Files come by fetch, from Blobs, or from this machine's disk.
 *
 * @import { Part, Platform, Progress } from './messages.js'
 * @import { Wasm } from './wasm.js'
 */

import { caller } from './engine.js';

const STAGING_BYTES = 1 << 20;
const PROGRESS_MILLISECONDS = 50;

/**
 * @typedef {object} Opened
 * @property {Part} part
 * @property {string} source For messages: the URL, path or name.
 * @property {number} size
 * @property {() => ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>} stream
 */

/** The engine's loader, fed through one small buffer in wasm memory. */
class Loader {
  #wasm;
  #call;
  #loader = 0;
  #staging;
  #staged = 0;

  /**
   * @param {Wasm} wasm
   * @param {boolean} exact
   */
  constructor(wasm, exact) {
    this.#wasm = wasm;
    this.#call = caller(wasm);
    this.#staging = wasm.allocate(STAGING_BYTES);
    this.#loader = wasm.scope((take) => {
      const options = take.struct('wick_load_options', { exact });
      const out = take.bytes(4);
      this.#call('wick_loader_new', options, out);
      return wasm.pointerAt(out);
    });
  }

  /**
   * @param {string} name
   * @param {number} size
   */
  begin(name, size) {
    this.#wasm.scope((take) =>
      this.#call('wick_loader_begin', this.#loader, take.string(name), BigInt(size)),
    );
  }

  /** @param {Uint8Array} bytes */
  write(bytes) {
    for (let at = 0; at < bytes.length;) {
      const n = Math.min(bytes.length - at, STAGING_BYTES - this.#staged);
      this.#wasm.bytes.set(bytes.subarray(at, at + n), this.#staging + this.#staged);
      at += n;
      this.#staged += n;
      if (this.#staged === STAGING_BYTES) this.flush();
    }
  }

  /** Hands the engine what was written so far: after a file's last byte. */
  flush() {
    const n = this.#staged;
    this.#staged = 0;
    if (n) this.#call('wick_loader_write', this.#loader, this.#staging, n);
  }

  /** @returns {number} The model. */
  finish() {
    const model = this.#wasm.scope((take) => {
      const out = take.bytes(4);
      this.#call('wick_loader_finish', this.#loader, out);
      return this.#wasm.pointerAt(out);
    });
    this.#wasm.exports.wick_loader_free(this.#loader);
    this.#wasm.free(this.#staging);
    return model;
  }
}

/**
 * Opens every part; missing optional ones are left out.
 * @param {Part[]} parts
 * @param {Platform} platform
 * @returns {Promise<Opened[]>}
 */
export async function openParts(parts, platform) {
  /** @type {Opened[]} */
  const opened = [];
  for (const part of parts) {
    const one = await openPart(part, platform);
    if (one) opened.push(one);
  }
  return opened;
}

/**
 * @param {Part} part
 * @param {Platform} platform
 * @returns {Promise<Opened | null>}
 */
async function openPart(part, platform) {
  const { url, path, blob, name } = part;
  if (blob) return { part, source: name, size: blob.size, stream: () => blob.stream() };
  if (path) {
    const file = await platform.open(path).catch((error) => {
      if (part.optional) return null;
      throw new Error(`${path}: expected a readable file, found ${error.code ?? error.message}`);
    });
    return file && { part, source: path, ...file };
  }
  return openUrl(part, /** @type {string} */ (url));
}

/**
 * @param {Part} part
 * @param {string} url
 * @returns {Promise<Opened | null>}
 */
async function openUrl(part, url) {
  // Asking for a range keeps servers from compressing, so that the length is the file's.
  const headers = { Range: 'bytes=0-' };
  const response = await fetch(url, { headers }).catch((error) => {
    throw new Error(`${url}: expected an answer, found ${error.cause?.message ?? error.message}`);
  });
  if (!response.ok) {
    await response.body?.cancel();
    if (part.optional && response.status === 404) return null;
    throw new Error(`${url}: expected status 200, found ${response.status}`);
  }
  const type = response.headers.get('content-type') ?? '';
  if (/^text\/html/i.test(type)) {
    await response.body?.cancel();
    if (part.optional) return null;
    throw new Error(`${url}: expected a model file, found a web page (${type})`);
  }
  const { body } = response;
  const length = Number(response.headers.get('content-length'));
  if (body && length > 0 && !response.headers.get('content-encoding'))
    return { part, source: url, size: length, stream: () => body };
  // No length that can be trusted: only the whole body tells.
  const blob = await response.blob();
  return { part, source: url, size: blob.size, stream: () => blob.stream() };
}

/**
 * @param {Wasm} wasm
 * @param {Opened[]} files
 * @param {boolean} exact
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<number>} The model.
 */
export async function loadModel(wasm, files, exact, onProgress) {
  const loader = new Loader(wasm, exact);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  let loaded = 0;
  let reported = 0;
  for (const file of files) {
    try {
      loader.begin(file.part.name, file.size);
      let received = 0;
      for await (const bytes of chunks(file.stream())) {
        received += bytes.length;
        if (received > file.size) break;
        loader.write(bytes);
        loaded += bytes.length;
        if (performance.now() - reported > PROGRESS_MILLISECONDS) {
          reported = performance.now();
          onProgress({ phase: 'weights', loaded, total, file: file.source });
        }
      }
      if (received !== file.size)
        throw new Error(
          `expected ${file.size} bytes, found ${received > file.size ? 'more' : received}`,
        );
      loader.flush();
    } catch (error) {
      throw named(file, error);
    }
  }
  onProgress({ phase: 'weights', loaded, total, file: files[files.length - 1].source });
  return loader.finish();
}

/**
 * The same error, its message beginning with where the file came from.
 * @param {Opened} file
 * @param {any} error
 */
function named(file, error) {
  const text = String(error?.message ?? error);
  const { name } = file.part;
  const rest = text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text;
  return new Error(`${file.source}: ${rest}`);
}

/**
 * Not every browser iterates over streams by itself.
 * @param {ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>} stream
 */
async function* chunks(stream) {
  if (!('getReader' in stream)) return yield* stream;
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
