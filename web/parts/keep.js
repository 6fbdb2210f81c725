/**
 * Conversations kept in this browser (IndexedDB). Where that is refused, as in some private windows,
 * they live as long as the page, and `reason` says so.
 *
 * @import { Saved } from './conversation.js'
 */

const NAME = 'wick';
const VERSION = 1;
/** Whole conversations, and what a list shows of each. */
const STORES = /** @type {const} */ (['conversations', 'heads']);
const CHANNEL = 'wick-conversations';

/** @typedef {Pick<Saved, 'id' | 'title' | 'created' | 'updated'>} Head */

export class Keep {
  #database;
  /** Where there is no database. @type {Map<string, Saved>} */
  #memory = new Map();
  #channel = new BroadcastChannel(CHANNEL);

  /** @param {IDBDatabase | null} database @param {string} reason */
  constructor(database, reason) {
    this.#database = database;
    /** Why conversations are not kept; '' when they are. */
    this.reason = reason;
  }

  /** @returns {Promise<Keep>} */
  static async open() {
    try {
      return new Keep(await openDatabase(), '');
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return new Keep(null, `Conversations last as long as this page: ${why}`);
    }
  }

  /** Has another tab's changes told. @param {() => void} listener */
  onChange(listener) {
    this.#channel.addEventListener('message', listener);
  }

  /** @returns {Promise<Head[]>} The one changed last first. */
  async list() {
    const heads = this.#database
      ? await settled(this.#database.transaction('heads').objectStore('heads').getAll())
      : [...this.#memory.values()].map(headOf);
    return /** @type {Head[]} */ (heads).sort((a, b) => b.updated - a.updated);
  }

  /** @param {string} id @returns {Promise<Saved | undefined>} */
  async get(id) {
    if (!this.#database) return structuredClone(this.#memory.get(id));
    const store = this.#database.transaction('conversations').objectStore('conversations');
    return settled(store.get(id));
  }

  /** All of them, for an export. @returns {Promise<Saved[]>} */
  async all() {
    if (!this.#database) return [...this.#memory.values()];
    const store = this.#database.transaction('conversations').objectStore('conversations');
    return settled(store.getAll());
  }

  /** @param {Saved[]} conversations All are kept or, when there is no room, none. */
  put(...conversations) {
    return this.#change(
      ([whole, heads]) => {
        for (const each of conversations) {
          whole.put(each);
          heads.put(headOf(each));
        }
      },
      () => conversations.forEach((each) => this.#memory.set(each.id, each)),
    );
  }

  /** @param {string} id */
  delete(id) {
    return this.#change(
      (stores) => stores.forEach((store) => store.delete(id)),
      () => this.#memory.delete(id),
    );
  }

  /**
   * @param {(stores: IDBObjectStore[]) => void} inDatabase
   * @param {() => void} inMemory
   */
  async #change(inDatabase, inMemory) {
    if (!this.#database) return inMemory();
    const transaction = this.#database.transaction(STORES, 'readwrite');
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(null);
      transaction.onabort = () => reject(transaction.error);
    });
    inDatabase(STORES.map((name) => transaction.objectStore(name)));
    await done;
    this.#channel.postMessage('changed');
  }
}

/** @param {Saved} saved @returns {Head} */
const headOf = ({ id, title, created, updated }) => ({ id, title, created, updated });

/** @returns {Promise<IDBDatabase>} */
async function openDatabase() {
  const request = indexedDB.open(NAME, VERSION);
  request.onupgradeneeded = () => {
    for (const name of STORES) request.result.createObjectStore(name, { keyPath: 'id' });
  };
  const database = await settled(request);
  // A later version in another tab may change the stores.
  database.onversionchange = () => database.close();
  return database;
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
