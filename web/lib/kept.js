/**
 * What earlier loads kept on this machine, to look at and to free.
 *
 * @import { Room, Storage } from './messages.js'
 * @import { Store } from './store.js'
 *
 * @typedef {object} KeptFile
 * @property {string} url Where it came from.
 * @property {string} name
 * @property {number} bytes That are there.
 * @property {boolean} complete Else the next load goes on from there.
 * @property {number} time Milliseconds since 1970 when it came.
 * @property {Store['kind']} where
 */

/**
 * @param {Storage} storage
 */
export const keeper = (storage) => ({
  /** @returns {Promise<KeptFile[]>} The newest first. */
  async list() {
    /** @type {KeptFile[]} */
    const files = [];
    for (const { kind: where, kept } of await everything(storage)) {
      if (!kept || kept.journal.missing) continue;
      const { url, name, complete, time } = kept.journal;
      files.push({ url, name, bytes: kept.size, complete, time, where });
    }
    return files.sort((a, b) => b.time - a.time);
  },

  /**
   * Models that are loaded go on working.
   * @param {string} [url] Only the file that came from there; without it all of them.
   * @returns {Promise<number>} How many bytes were freed.
   */
  async free(url) {
    let bytes = 0;
    for (const { kept, drop } of await everything(storage)) {
      if (url !== undefined && kept?.journal.url !== url) continue;
      await drop();
      bytes += kept?.size ?? 0;
    }
    return bytes;
  },

  /** @returns {Promise<Room>} */
  room: () => storage.room(),
});

/** @param {Storage} storage */
async function everything(storage) {
  const found = [];
  for (const store of await storage.stores()) {
    for (const key of await store.keys()) {
      const kept = await store.find(key);
      const drop = async () => {
        await store.drop(key).catch((error) => {
          const name = kept?.journal.url ?? key;
          throw new Error(
            `wick: ${name}: expected a file that nobody uses, found ${error.message}`,
          );
        });
      };
      found.push({ kind: store.kind, kept, drop });
    }
  }
  return found;
}
