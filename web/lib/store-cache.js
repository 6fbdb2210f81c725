/**
 * Model files in the Cache API, for browsers that have no OPFS for this page. An entry can only be
 * put whole, so a file is a row of pieces; the journal counts those that are there.
 *
 * @import { Journal, Kept, Store, Writer } from './store.js'
 */

import { parseJournal, PLACE, roomOfPage } from './store.js';

const PIECE_BYTES = 4 << 20;

/** @returns {Promise<Store | null>} */
export async function cacheStore() {
  try {
    return new CacheStore(await caches.open(PLACE));
  } catch {
    return null;
  }
}

/** An entry's address, which no server answers. @param {string} key @param {string | number} what */
const address = (key, what) => `https://wick.invalid/${encodeURIComponent(key)}/${what}`;

/** @implements {Store} */
class CacheStore {
  /** @type {'cache'} */
  kind = 'cache';
  #cache;

  /** @param {Cache} cache */
  constructor(cache) {
    this.#cache = cache;
  }

  /**
   * @param {string} key
   * @returns {Promise<Kept | null>}
   */
  async find(key) {
    const response = await this.#cache.match(address(key, 'journal'));
    const text = await response?.text();
    const journal = text ? parseJournal(text) : null;
    if (!text || !journal) return null;
    const sizes = await this.#sizes(key);
    const size = sizes.reduce((sum, bytes) => sum + bytes, 0);
    return { journal, size, chunks: () => this.#chunks(key, sizes.length) };
  }

  /** Of the pieces that are there. @param {string} key */
  async #sizes(key) {
    const sizes = [];
    for (;;) {
      const response = await this.#cache.match(address(key, sizes.length));
      if (!response) return sizes;
      sizes.push(Number(response.headers.get('content-length')));
    }
  }

  /** @param {string} key @param {number} n */
  async *#chunks(key, n) {
    for (let i = 0; i < n; i++) {
      const response = await this.#cache.match(address(key, i));
      if (!response) throw new Error('expected the kept file whole, found a piece missing');
      yield new Uint8Array(await response.arrayBuffer());
    }
  }

  /**
   * @param {string} key
   * @param {Journal} journal
   * @param {number} from
   * @returns {Promise<Writer>}
   */
  async writer(key, journal, from) {
    if (from === 0) await this.drop(key);
    let next = (await this.#sizes(key)).length;
    await this.commit(key, journal);
    let piece = new Uint8Array(PIECE_BYTES);
    let filled = 0;
    const put = async () => {
      const body = piece.slice(0, filled);
      const headers = { 'Content-Length': String(filled) };
      filled = 0;
      await this.#cache.put(address(key, next++), new Response(body, { headers }));
    };
    return {
      write: async (bytes) => {
        for (let at = 0; at < bytes.length;) {
          const n = Math.min(bytes.length - at, PIECE_BYTES - filled);
          piece.set(bytes.subarray(at, at + n), filled);
          at += n;
          filled += n;
          if (filled === PIECE_BYTES) await put();
        }
      },
      close: async () => {
        if (filled) await put();
        piece = new Uint8Array(0);
      },
    };
  }

  /** @param {string} key @param {Journal} journal */
  async commit(key, journal) {
    await this.#cache.put(address(key, 'journal'), new Response(JSON.stringify(journal)));
  }

  /** @param {string} key */
  async drop(key) {
    await this.#cache.delete(address(key, 'journal'));
    for (let i = 0; await this.#cache.delete(address(key, i)); i++);
  }

  room() {
    return roomOfPage();
  }

  async keys() {
    const keys = [];
    for (const { url } of await this.#cache.keys()) {
      const [, key, what] = new URL(url).pathname.split('/');
      if (what === 'journal') keys.push(decodeURIComponent(key));
    }
    return keys;
  }
}
