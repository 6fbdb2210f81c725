/**
 * One file of a model that a server has: from this machine's store when it was kept, else over the
 * network and into the store on its way to the engine. Nothing counts as kept before its length and
 * hash are right; what proves bad is dropped and fetched anew.
 *
 * @import { FileReport, NetworkSettings, Part } from './messages.js'
 * @import { Journal, Kept, Store, Writer } from './store.js'
 * @import { Version } from './fetch-stream.js'
 */

import { Download, FetchError, sameVersion } from './fetch-stream.js';
import { checkStart } from './magic.js';
import { chunksOf, hex, keyOf } from './store.js';

/** A server that does not say soon whether its file changed is not waited for. */
const HEAD_MILLISECONDS = 3000;
const MOST_RESTARTS = 2;
const SPOOL_BYTES = 8 << 20;
/** @type {Version} */
const UNKNOWN = { etag: null, modified: null, total: null, encoded: false };

/**
 * @typedef {object} Context What the files of a load share.
 * @property {Store | null} store
 * @property {string} noStore Why there is none; empty: nobody asked for one.
 * @property {(name: string, onWait: () => void) => Promise<() => void>} lock One holder at a time
 *   on this machine; resolves to its release.
 * @property {(url: string) => boolean} sameOrigin
 * @property {NetworkSettings} network
 * @property {(url: string) => void} onWait Told when another load of the file is waited for.
 * @property {(bytes: number, url: string) => void} onBytes Told what arrives before it can be used.
 */

export class RemoteFile {
  part;
  source;
  /** Bytes of the whole file; right once ready. */
  size = 0;
  #context;
  #download;
  #key = '';
  /** Bytes that need no network, the file's first; null: none. */
  #local = /** @type {(() => AsyncIterable<Uint8Array> | Iterable<Uint8Array>) | null} */ (null);
  /** The network has bytes after those. */
  #rest = false;
  #ready = false;
  /** The store has it whole. */
  #isKept = false;
  /** @type {Writer | null} */
  #writer = null;
  #release = () => {};
  #storeBytes = 0;
  #requestsBefore = 0;
  #restarts = 0;
  #note;
  #began = performance.now();
  #milliseconds = 0;

  /**
   * @param {Part} part
   * @param {Context} context
   */
  constructor(part, context) {
    const url = String(part.url);
    this.part = part;
    this.source = url;
    this.#context = context;
    this.#note = context.store ? '' : context.noStore;
    const { network } = context;
    const options = { expected: part.bytes, sameOrigin: context.sameOrigin(url), network };
    this.#download = new Download(url, options);
  }

  /**
   * Finds out the size, by as little as that takes.
   * @param {boolean} alone Its connection may be opened now and wait. Of several large files each
   *   is asked for when its turn comes: browsers open only six connections to a host.
   * @returns {Promise<boolean>} False when the file is optional and missing.
   */
  async open(alone) {
    for (;;) {
      try {
        return await this.#open(alone);
      } catch (error) {
        const again = await this.reject(error);
        if (this.#isAbsent(error)) return this.#rememberAbsent();
        if (!again) throw error;
      }
    }
  }

  /** @param {boolean} alone */
  async #open(alone) {
    if (this.#context.store) this.#key = await keyOf(this.part);
    const kept = await this.#findWhole();
    if (kept?.journal.missing) return false;
    if (kept) this.#use(kept);
    else if (this.part.bytes !== undefined) this.size = this.part.bytes;
    else if (alone || !(await this.#askSize())) await this.ready();
    return true;
  }

  /**
   * Takes a small file into memory at once; then nothing of it is open.
   * @returns {Promise<boolean>} As of open.
   */
  async gather() {
    if (!(await this.open(true))) return false;
    for (;;) {
      try {
        const bytes = await joined(this.read());
        this.size = bytes.length;
        await this.accept(this.part.sha256 ? await sha256Of(bytes) : null);
        this.#local = () => [bytes];
        this.#ready = true;
        return true;
      } catch (error) {
        if (!(await this.reject(error))) throw error;
        await this.ready();
      }
    }
  }

  /**
   * Waits for its turn and for the server's answer, going on with what the store has. Then the
   * size is right.
   */
  async ready() {
    if (this.#ready) return;
    const { store, lock, onWait } = this.#context;
    if (store) this.#release = await lock(`wick ${this.#key}`, () => onWait(this.source));
    // Another tab may have fetched it meanwhile.
    const kept = await this.#findWhole();
    if (kept && !kept.journal.missing) return this.#use(kept);
    await this.#connect();
    this.#ready = true;
    if (this.#download.size === null) await this.#spool();
    else this.size = this.#download.size;
  }

  /**
   * The bytes from the first on, once after each ready.
   * @returns {AsyncGenerator<Uint8Array, void, void>}
   */
  async *read() {
    if (this.#local) yield* this.#local();
    if (this.#rest) yield* this.#arriving();
  }

  /**
   * Every byte was taken, and is kept now if its hash is right.
   * @param {string | null} sha256 Of the bytes; null: not computed.
   */
  async accept(sha256) {
    const expected = this.part.sha256;
    if (expected && sha256 !== null && sha256 !== expected)
      throw new FetchError('wrong', `expected SHA-256 ${expected}, found ${sha256}`);
    const { store } = this.#context;
    if (store && !this.#isKept && !this.#note) {
      const version = { ...(this.#download.version ?? UNKNOWN), total: this.size };
      try {
        await this.#closeWriter();
        await store.commit(this.#key, { ...this.#journal(version), complete: true });
        this.#isKept = true;
      } catch (error) {
        await this.#giveUpKeeping(error);
      }
    }
    this.#milliseconds ||= performance.now() - this.#began;
    this.#end();
  }

  /**
   * Reading failed, or what was read is no good.
   * @param {any} error
   * @returns {Promise<boolean>} Whether another ready and read, from the server alone, may end
   *   better.
   */
  async reject(error) {
    const kind = error instanceof FetchError ? error.kind : 'wrong';
    const requests = this.#download.requests - this.#requestsBefore;
    const mixed = this.#storeBytes > 0 || requests > 1 || kind === 'changed';
    await this.#closeWriter().catch(() => {});
    // Without an answer of use, what arrived before is good: the next load goes on from there.
    const unanswered = kind === 'network' || kind === 'answer' || kind === 'missing';
    if (!unanswered) await this.#drop();
    this.#end();
    if (unanswered || !mixed) return false;
    return ++this.#restarts <= MOST_RESTARTS;
  }

  /** @returns {FileReport} */
  report() {
    const { store } = this.#context;
    return {
      file: this.source,
      bytes: this.size,
      storeBytes: this.#storeBytes,
      networkBytes: this.#download.received,
      requests: this.#download.requests,
      restarts: this.#restarts,
      kept: store && this.#isKept ? store.kind : null,
      note: this.#note,
      milliseconds: this.#milliseconds,
    };
  }

  /**
   * The kept copy if it is whole and the server has not another one meanwhile. A server that does
   * not answer changes nothing.
   */
  async #findWhole() {
    const kept = await this.#find();
    if (!kept?.journal.complete) return null;
    const { journal, size } = kept;
    const { sha256, bytes, optional } = this.part;
    const right = journal.missing
      ? optional
      : size === journal.version.total && size === (bytes ?? size);
    if (right && (sha256 || !(await this.#isStale(journal)))) return kept;
    await this.#drop();
    return null;
  }

  /** @param {Journal} journal */
  async #isStale({ version, missing }) {
    const answer = await this.#download.head(HEAD_MILLISECONDS).catch(() => null);
    if (answer?.status !== 200) return false;
    return missing || sameVersion(version, answer.version) === false;
  }

  async #askSize() {
    const answer = await this.#download.head(HEAD_MILLISECONDS).catch(() => null);
    const total = answer?.status === 200 ? answer.version.total : null;
    this.size = total ?? 0;
    return total !== null;
  }

  /** @param {Kept} kept All of the file. */
  #use(kept) {
    this.#unlock();
    this.#ready = this.#isKept = true;
    this.#rest = false;
    this.size = kept.size;
    this.#storeBytes = 0;
    this.#local = () => this.#stored(kept);
  }

  /** Asks the server for what the store lacks. */
  async #connect() {
    const download = this.#download;
    const part = await this.#find();
    const size = part && !part.journal.complete && !part.journal.version.encoded ? part.size : 0;
    download.resume(size, size && part ? part.journal.version : null);
    this.#local = part && size ? () => this.#stored(part) : null;
    this.#requestsBefore = download.requests;
    this.#storeBytes = 0;
    // All came, but it was not accepted yet.
    this.#rest = download.at === 0 || download.at !== download.size;
    if (!this.#rest) return;
    try {
      await download.connect();
    } catch (error) {
      if (!size || !(error instanceof FetchError) || error.kind !== 'changed') throw error;
      download.resume(0, null);
      this.#local = null;
      await download.connect();
    }
  }

  /** @param {Kept} kept */
  async *#stored(kept) {
    for await (const bytes of kept.chunks()) {
      this.#storeBytes += bytes.length;
      yield bytes;
    }
  }

  /** What the network still has to bring, written down on its way. */
  async *#arriving() {
    const download = this.#download;
    let first = download.at === 0;
    await this.#openWriter();
    for await (const bytes of download.chunks()) {
      if (first) checkStart(this.part.name, bytes);
      first = false;
      try {
        await this.#writer?.write(bytes);
      } catch (error) {
        await this.#giveUpKeeping(error);
      }
      yield bytes;
    }
    this.#rest = false;
  }

  /**
   * Fetches a file whose size nobody says: the engine must know it before the first byte. A Blob
   * need not lie in memory.
   */
  async #spool() {
    const { onBytes } = this.#context;
    /** @type {Blob[]} */
    const spooled = [];
    let pieces = [];
    let waiting = 0;
    for await (const bytes of this.read()) {
      pieces.push(/** @type {BlobPart} */ (bytes));
      waiting += bytes.length;
      onBytes(this.#download.at, this.source);
      if (waiting < SPOOL_BYTES) continue;
      spooled.push(new Blob(pieces));
      pieces = [];
      waiting = 0;
    }
    const whole = new Blob([...spooled, ...pieces]);
    this.size = whole.size;
    this.#local = () => chunksOf(whole.stream());
  }

  async #openWriter() {
    const { store } = this.#context;
    if (!store || this.#note) return;
    const { version, at } = this.#download;
    try {
      this.#writer = await store.writer(this.#key, this.#journal(version ?? UNKNOWN), at);
    } catch (error) {
      await this.#giveUpKeeping(error);
    }
  }

  async #closeWriter() {
    const writer = this.#writer;
    this.#writer = null;
    await writer?.close();
  }

  /**
   * The load goes on from memory.
   * @param {any} error
   */
  async #giveUpKeeping(error) {
    const { store } = this.#context;
    await this.#closeWriter().catch(() => {});
    await this.#drop();
    const room = (await store?.room().catch(() => '')) ?? '';
    this.#note = `not kept: ${error?.message ?? error}${room && ` (${room})`}`;
  }

  /** @param {Version} version @returns {Journal} */
  #journal(version) {
    const { name } = this.part;
    return {
      url: this.source,
      name,
      version,
      complete: false,
      missing: false,
      time: Date.now(),
    };
  }

  #find() {
    return this.#context.store?.find(this.#key).catch(() => null) ?? null;
  }

  async #drop() {
    this.#isKept = false;
    await this.#context.store?.drop(this.#key).catch(() => {});
  }

  /** @param {any} error */
  #isAbsent(error) {
    if (!this.part.optional || !(error instanceof FetchError)) return false;
    return error.kind === 'missing' || /found a web page/.test(error.message);
  }

  /** So that the next load works without the server. */
  async #rememberAbsent() {
    const journal = { ...this.#journal(UNKNOWN), complete: true, missing: true };
    await this.#context.store?.commit(this.#key, journal).catch(() => {});
    return false;
  }

  #unlock() {
    this.#release();
    this.#release = () => {};
  }

  /** Nothing stays open; the next ready begins anew. */
  #end() {
    this.#download.close();
    this.#ready = false;
    this.#local = null;
    this.#unlock();
  }
}

/** @param {AsyncIterable<Uint8Array>} chunks */
async function joined(chunks) {
  const parts = [];
  for await (const bytes of chunks) parts.push(/** @type {BlobPart} */ (bytes));
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function sha256Of(bytes) {
  if (!crypto.subtle) return null; // not a secure context: nothing is kept, and the engine hashes
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
