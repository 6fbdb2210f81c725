/**
 * Streams the files of a model into the engine as they arrive: a page's memory never holds a second
 * copy. A file that proves bad or changed on the way is read again, and with it the model.
 *
 * @import { Opened } from './files.js'
 * @import { Progress } from './messages.js'
 * @import { Wasm } from './wasm.js'
 */

import { caller } from './engine.js';
import { bytesOf } from './files.js';
import { hex } from './store.js';

const STAGING_BYTES = 1 << 20;
const HASH_BYTES = 32;
const MOST_RESTARTS = 4;
const PROGRESS_MILLISECONDS = 50;
const RATE_MILLISECONDS = 5000;

/** The engine's loader, fed through one small buffer in wasm memory. */
class Loader {
  #wasm;
  #call;
  #loader = 0;
  #staging;
  #staged = 0;
  #hash;
  #hashing = false;

  /**
   * @param {Wasm} wasm
   * @param {boolean} exact
   */
  constructor(wasm, exact) {
    this.#wasm = wasm;
    this.#call = caller(wasm);
    this.#staging = wasm.allocate(STAGING_BYTES);
    this.#hash = wasm.allocate(wasm.sizeOf('wick_sha256') + HASH_BYTES);
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
   * @param {boolean} hashing Whether end is to return its SHA-256.
   */
  begin(name, size, hashing) {
    this.#hashing = hashing;
    if (hashing) this.#wasm.exports.wick_sha256_begin(this.#hash);
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
      if (this.#staged === STAGING_BYTES) this.#flush();
    }
  }

  /** Hands the engine what was written so far. */
  #flush() {
    const n = this.#staged;
    this.#staged = 0;
    if (!n) return;
    if (this.#hashing) this.#wasm.exports.wick_sha256_update(this.#hash, this.#staging, n);
    this.#call('wick_loader_write', this.#loader, this.#staging, n);
  }

  /**
   * After a file's last byte.
   * @returns {string | null} Its SHA-256.
   */
  end() {
    this.#flush();
    if (!this.#hashing) return null;
    const out = this.#hash + this.#wasm.sizeOf('wick_sha256');
    this.#wasm.exports.wick_sha256_end(this.#hash, out);
    return hex(this.#wasm.copyBytes(out, HASH_BYTES));
  }

  /** @returns {number} The model. */
  finish() {
    return this.#wasm.scope((take) => {
      const out = take.bytes(4);
      this.#call('wick_loader_finish', this.#loader, out);
      return this.#wasm.pointerAt(out);
    });
  }

  free() {
    this.#wasm.exports.wick_loader_free(this.#loader);
    this.#wasm.free(this.#staging);
    this.#wasm.free(this.#hash);
  }
}

/** Counts what arrives, and how fast. */
class Meter {
  #files;
  #onProgress;
  #total;
  #loaded = 0;
  #reported = 0;
  /** @type {Opened | null} */
  #current = null;
  /** The rate is that of the last seconds: times and counts. @type {[number, number][]} */
  #marks = [];

  /**
   * @param {Opened[]} files
   * @param {(progress: Progress) => void} onProgress
   */
  constructor(files, onProgress) {
    this.#files = files;
    this.#onProgress = onProgress;
    this.#total = bytesOf(files);
  }

  /** From the start again. */
  reset() {
    this.#loaded = 0;
    this.#marks = [];
  }

  /** @param {Opened} file @param {number} n */
  add(file, n) {
    this.#loaded += n;
    const due = performance.now() - this.#reported > PROGRESS_MILLISECONDS;
    if (due || file !== this.#current) this.report(file);
  }

  /** @param {Opened} file */
  report(file) {
    const now = performance.now();
    this.#reported = now;
    this.#current = file;
    this.#total = bytesOf(this.#files);
    const loaded = Math.min(this.#loaded, this.#total);
    this.#marks.push([now, loaded]);
    while (this.#marks[0][0] < now - RATE_MILLISECONDS) this.#marks.shift();
    const [time, count] = this.#marks[0];
    const rate = now > time ? (1000 * (loaded - count)) / (now - time) : 0;
    const secondsLeft = rate > 0 ? (this.#total - loaded) / rate : null;
    const progress = { loaded, total: this.#total, file: file.source, rate, secondsLeft };
    this.#onProgress({ phase: 'weights', ...progress });
  }
}

/**
 * @param {Wasm} wasm
 * @param {Opened[]} files
 * @param {boolean} exact
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<number>} The model.
 */
export async function loadModel(wasm, files, exact, onProgress) {
  const meter = new Meter(files, onProgress);
  for (let restarts = 0; ; restarts++) {
    const loader = new Loader(wasm, exact);
    /** Whose bytes are being read; null: all were. @type {Opened | null} */
    let current = null;
    try {
      for (const file of files) {
        current = file;
        await feed(loader, file, meter);
      }
      current = null;
      const last = files[files.length - 1];
      const model = loader.finish();
      meter.report(last);
      return model;
    } catch (error) {
      // What is wrong with the whole may lie in any file.
      const again = await rejectAll(current ? [current] : files, error);
      if (!again || restarts === MOST_RESTARTS) throw named(current ?? files[0], error);
      meter.reset();
    } finally {
      loader.free();
    }
  }
}

/**
 * @param {Loader} loader
 * @param {Opened} file
 * @param {Meter} meter
 */
async function feed(loader, file, meter) {
  await file.ready();
  loader.begin(file.part.name, file.size, file.part.sha256 !== undefined);
  let received = 0;
  for await (const bytes of file.read()) {
    received += bytes.length;
    if (received > file.size) break;
    loader.write(bytes);
    meter.add(file, bytes.length);
  }
  if (received !== file.size)
    throw new Error(
      `expected ${file.size} bytes, found ${received > file.size ? 'more' : received}`,
    );
  await file.accept(loader.end());
}

/**
 * @param {Opened[]} files
 * @param {unknown} error
 * @returns {Promise<boolean>} Whether reading them again may help.
 */
async function rejectAll(files, error) {
  let again = false;
  for (const file of files) if (await file.reject(error)) again = true;
  return again;
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
