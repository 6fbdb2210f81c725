/**
 * What keeps model files between visits. A store holds, for each file, its bytes as far as they came
 * and a journal that says of which version they are and whether they are all there and checked:
 * only then is the file used without its server. Three of them: OPFS, the Cache API, Node's disk.
 *
 * @import { Part } from './messages.js'
 * @import { Version } from './fetch-stream.js'
 */

/**
 * @typedef {object} Journal
 * @property {string} url
 * @property {string} name The file's base name.
 * @property {Version} version
 * @property {boolean} complete All bytes are there, of the right length and hash.
 * @property {boolean} missing The server has no such file: an optional one.
 * @property {number} time Milliseconds since 1970 when the journal was written.
 *
 * @typedef {object} Kept
 * @property {Journal} journal
 * @property {number} size Bytes that are there.
 * @property {() => AsyncIterable<Uint8Array>} chunks
 *
 * @typedef {object} Writer
 * @property {(bytes: Uint8Array) => void | Promise<void>} write
 * @property {() => void | Promise<void>} close
 *
 * @typedef {object} Store
 * @property {'opfs' | 'cache' | 'disk'} kind
 * @property {(key: string) => Promise<Kept | null>} find
 * @property {(key: string, journal: Journal, from: number) => Promise<Writer>} writer Goes on
 *   after the first `from` bytes.
 * @property {(key: string, journal: Journal) => Promise<void>} commit Of a closed writer's file.
 * @property {(key: string) => Promise<void>} drop
 * @property {() => Promise<string[]>} keys
 * @property {() => Promise<string>} room For messages: how full it is; empty: unknown.
 */

/** Where pages keep models: a folder of OPFS, and a cache. */
export const PLACE = 'wick-models';

/**
 * A file's name in every store: by its hash where that is known, so that mirrors share it, else by
 * its address.
 * @param {Part} part
 */
export async function keyOf({ name, url, sha256 }) {
  const id = sha256 ?? (await hexHash(String(url)));
  const dot = name.lastIndexOf('.');
  const stem = name.slice(0, dot).replace(/[^\w.-]+/g, '_');
  return `${stem.slice(0, 60)}-${id.slice(0, 32)}${name.slice(dot).toLowerCase()}`;
}

/** @param {string} text */
async function hexHash(text) {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return hex(new Uint8Array(hash));
}

/** @param {Uint8Array} bytes */
export const hex = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * A journal that was written whole, or null.
 * @param {string} text
 * @returns {Journal | null}
 */
export function parseJournal(text) {
  try {
    const { url, name, version, complete, missing, time } = JSON.parse(text);
    const { etag, modified, total, encoded } = version;
    /** @param {unknown} value */
    const string = (value) => (typeof value === 'string' ? value : null);
    return {
      url: String(url),
      name: String(name),
      version: {
        etag: string(etag),
        modified: string(modified),
        total: Number.isSafeInteger(total) ? total : null,
        encoded: encoded === true,
      },
      complete: complete === true,
      missing: missing === true,
      time: Number(time) || 0,
    };
  } catch {
    return null;
  }
}

/** How full a page's storage is, in words. */
export async function roomOfPage() {
  const { usage = 0, quota = 0 } = await navigator.storage.estimate();
  /** @param {number} bytes */
  const megabytes = (bytes) => (bytes / 1e6).toFixed(0);
  return quota ? `${megabytes(usage)} MB of ${megabytes(quota)} MB of storage are in use` : '';
}

/**
 * Not every browser iterates over streams by itself.
 * @param {ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>} stream
 * @returns {AsyncGenerator<Uint8Array, void, void>}
 */
export async function* chunksOf(stream) {
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
