/**
 * Files that Node fetched, on disk: FILE.part and its journal FILE.part.json while bytes arrive,
 * FILE and FILE.json once they are all there and checked. Under $WICK_MODELS if it is set, else in
 * the platform's folder for caches.
 *
 * @import { Journal, Kept, Store, Writer } from '../web/lib/store.js'
 */

import { createReadStream, writeSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { parseJournal } from '../web/lib/store.js';

/** @returns {string} */
export function cacheFolder() {
  const { WICK_MODELS, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (WICK_MODELS) return path.join(WICK_MODELS, 'fetched');
  if (process.platform === 'darwin') return path.join(homedir(), 'Library', 'Caches', 'wick');
  if (process.platform === 'win32')
    return path.join(LOCALAPPDATA || path.join(homedir(), 'AppData', 'Local'), 'wick', 'Cache');
  return path.join(XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'wick');
}

/** @returns {Promise<Store | null>} null where the folder cannot be made. */
export async function diskStore() {
  const folder = cacheFolder();
  try {
    await mkdir(folder, { recursive: true });
  } catch {
    return null;
  }
  return new DiskStore(folder);
}

/** @implements {Store} */
class DiskStore {
  /** @type {'disk'} */
  kind = 'disk';
  #folder;

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /** @param {string} key */
  #path(key) {
    return path.join(this.#folder, key);
  }

  /**
   * @param {string} key
   * @returns {Promise<Kept | null>}
   */
  async find(key) {
    for (const file of [this.#path(key), `${this.#path(key)}.part`]) {
      const text = await readFile(`${file}.json`, 'utf8').catch(() => null);
      const journal = text === null ? null : parseJournal(text);
      if (!journal) continue;
      const size = (await stat(file).catch(() => null))?.size ?? 0;
      const options = { highWaterMark: 1 << 20, end: size - 1 };
      const chunks = () => (size ? createReadStream(file, options) : noChunks());
      return { journal, size, chunks };
    }
    return null;
  }

  /**
   * @param {string} key
   * @param {Journal} journal
   * @param {number} from
   * @returns {Promise<Writer>}
   */
  async writer(key, journal, from) {
    const part = `${this.#path(key)}.part`;
    await writeFile(`${part}.json`, JSON.stringify(journal));
    const file = await open(part, from ? 'r+' : 'w');
    await file.truncate(from);
    let at = from;
    return {
      write: (bytes) => {
        for (let done = 0; done < bytes.length;) {
          const n = writeSync(file.fd, bytes, done, bytes.length - done, at);
          done += n;
          at += n;
        }
      },
      close: () => file.close(),
    };
  }

  /** @param {string} key @param {Journal} journal */
  async commit(key, journal) {
    const file = this.#path(key);
    await writeFile(`${file}.part.json`, JSON.stringify(journal));
    if (!journal.missing) await rename(`${file}.part`, file);
    await rename(`${file}.part.json`, `${file}.json`);
  }

  /** @param {string} key */
  async drop(key) {
    for (const end of ['.json', '', '.part.json', '.part'])
      await rm(this.#path(key) + end, { force: true });
  }

  async keys() {
    const names = await readdir(this.#folder);
    const ends = names.filter((name) => name.endsWith('.json'));
    return [...new Set(ends.map((name) => name.replace(/(\.part)?\.json$/, '')))];
  }

  async room() {
    return '';
  }
}

/** @returns {AsyncGenerator<Uint8Array, void, void>} */
async function* noChunks() {}
