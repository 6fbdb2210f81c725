/**
 * Model files in the origin private file system, written by a worker as they arrive. Beside each
 * file lies its journal, FILE.journal.
 *
 * @import { Journal, Kept, Store, Writer } from './store.js'
 */

import { chunksOf, parseJournal, PLACE, roomOfPage } from './store.js';

/**
 * Only workers have these.
 * @typedef {object} SyncHandle
 * @property {(bytes: Uint8Array, options: { at: number }) => number} write
 * @property {(size: number) => void} truncate
 * @property {() => number} getSize
 * @property {() => void} flush
 * @property {() => void} close
 */

const SUFFIX = '.journal';

/**
 * @returns {Promise<Store | null>} null where the browser has none, or none for this page.
 */
export async function opfsStore() {
  try {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle(PLACE, { create: true });
    return new OpfsStore(folder);
  } catch {
    return null;
  }
}

/** @implements {Store} */
class OpfsStore {
  /** @type {'opfs'} */
  kind = 'opfs';
  #folder;

  /** @param {FileSystemDirectoryHandle} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /**
   * @param {string} key
   * @returns {Promise<Kept | null>}
   */
  async find(key) {
    const [text, file] = await Promise.all([this.#file(key + SUFFIX), this.#file(key)]);
    const journal = text && parseJournal(await text.text());
    if (!journal) return null;
    const size = file?.size ?? 0;
    return { journal, size, chunks: () => chunksOf(/** @type {File} */ (file).stream()) };
  }

  /**
   * @param {string} key
   * @param {Journal} journal
   * @param {number} from
   * @returns {Promise<Writer>}
   */
  async writer(key, journal, from) {
    await this.commit(key, journal);
    const handle = await this.#open(key);
    let end = from;
    try {
      handle.truncate(from);
    } catch (error) {
      handle.close();
      throw error;
    }
    return {
      write: (bytes) => {
        handle.write(bytes, { at: end });
        // Chromium says that it wrote all even where it had room for less.
        if (handle.getSize() !== (end += bytes.length))
          throw new DOMException('the storage is full', 'QuotaExceededError');
      },
      close: () => {
        handle.flush();
        handle.close();
      },
    };
  }

  /** @param {string} key @param {Journal} journal */
  async commit(key, journal) {
    const handle = await this.#open(key + SUFFIX);
    try {
      handle.truncate(0);
      handle.write(new TextEncoder().encode(JSON.stringify(journal)), { at: 0 });
      handle.flush();
    } finally {
      handle.close();
    }
  }

  /** The journal first: bytes without one count for nothing. @param {string} key */
  async drop(key) {
    await this.#remove(key + SUFFIX);
    await this.#remove(key);
  }

  /**
   * A handle that was closed just now may still count as open for a moment.
   * @param {string} name
   */
  async #remove(name) {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#folder.removeEntry(name);
      } catch (error) {
        const { name: reason } = /** @type {DOMException} */ (error);
        if (reason === 'NotFoundError') return;
        if (reason !== 'NoModificationAllowedError' || tries === 20) throw error;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  room() {
    return roomOfPage();
  }

  /** Also of bytes that lost their journal: they take room. */
  async keys() {
    const keys = new Set();
    for await (const name of this.#folder.keys())
      keys.add(name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name);
    return [...keys];
  }

  /** @param {string} name */
  async #file(name) {
    const handle = await this.#folder.getFileHandle(name).catch(() => null);
    return handle && handle.getFile();
  }

  /**
   * @param {string} name
   * @returns {Promise<SyncHandle>}
   */
  async #open(name) {
    const handle = await this.#folder.getFileHandle(name, { create: true });
    return /** @type {any} */ (handle).createSyncAccessHandle();
  }
}
