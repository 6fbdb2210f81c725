/**
 * One file from a server, over as many requests as it takes: each goes on from the byte reached.
 * A connection that breaks, stalls or is put off (429, 503) is tried again after a pause, a bounded
 * number of times. A file that changed meanwhile is noticed and never mixed with the old one.
 *
 * Source: RFC 9110, sections 10.2.3 (Retry-After), 13.1.5 (If-Range) and 14 (ranges). Across origins
 * a page sends no If-Range, which would cost a preflight, and often sees no ETag: it compares what
 * it can see; the hash has the last word.
 *
 * @import { NetworkSettings } from './messages.js'
 */

/**
 * What tells one version of a file from another; null: not said, or hidden from this page.
 * @typedef {object} Version
 * @property {string | null} etag
 * @property {string | null} modified As Last-Modified says it.
 * @property {number | null} total Bytes of the whole file.
 * @property {boolean} encoded Compressed on the way: byte ranges would count other bytes.
 */

/** @type {Required<NetworkSettings>} */
const DEFAULTS = {
  tries: 5,
  backOffMilliseconds: 500,
  stallMilliseconds: 10_000,
  longestWaitMilliseconds: 60_000,
};
/** A server that never answered is likely not there. */
const FIRST_TRIES = 3;
const LONGEST_BACK_OFF = 10_000;
const RETRIED = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Why a file did not come. network: trying later helps; answer: the server said something else;
 * missing: there is no such file; changed: it must be read from its start; wrong: its bytes are bad.
 */
export class FetchError extends Error {
  /**
   * @param {'network' | 'answer' | 'missing' | 'changed' | 'wrong'} kind
   * @param {string} message
   */
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** A try that failed but may be repeated. */
class Setback extends Error {
  /**
   * @param {string} message
   * @param {number} [pause] Milliseconds that the server asks for.
   */
  constructor(message, pause) {
    super(message);
    this.pause = pause;
  }
}

/** @typedef {{ expected?: number, sameOrigin: boolean, network?: NetworkSettings }} Options */

export class Download {
  /** The next byte to come. */
  at = 0;
  /** @type {Version | null} */
  version = null;
  requests = 0;
  /** Bytes that went over the network. */
  received = 0;
  #url;
  #expected;
  #sameOrigin;
  #network;
  #failures = 0;
  #skip = 0;
  /** @type {ReadableStreamDefaultReader<Uint8Array> | null} */
  #reader = null;
  #controller = new AbortController();

  /**
   * @param {string} url
   * @param {Options} options expected: the file's bytes, where they are known.
   */
  constructor(url, { expected, sameOrigin, network = {} }) {
    this.#url = url;
    this.#expected = expected ?? null;
    this.#sameOrigin = sameOrigin;
    const given = Object.entries(network).filter(([, value]) => value !== undefined);
    this.#network = { ...DEFAULTS, ...Object.fromEntries(given) };
  }

  /** The whole file's bytes, or null while nobody has said. */
  get size() {
    return this.#expected ?? this.version?.total ?? null;
  }

  /**
   * Starts at a byte of a version that is known already.
   * @param {number} at
   * @param {Version | null} version
   */
  resume(at, version) {
    this.at = at;
    this.version = version;
  }

  /** Waits for an answer, so that the version is known. */
  async connect() {
    while (!this.#reader) {
      try {
        await this.#request();
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  /**
   * The bytes from `at` to the end.
   * @returns {AsyncGenerator<Uint8Array, void, void>}
   */
  async *chunks() {
    try {
      for (;;) {
        await this.connect();
        try {
          yield* this.#body();
          return;
        } catch (error) {
          await this.#recover(error);
        }
      }
    } finally {
      this.close();
    }
  }

  /** Ends the connection, if there is one. */
  close() {
    this.#reader = null;
    this.#controller.abort();
  }

  /**
   * Asks for the size and version only.
   * @param {number} milliseconds
   * @returns {Promise<{ status: number, version: Version }>}
   */
  async head(milliseconds) {
    const signal = AbortSignal.timeout(milliseconds);
    const response = await fetch(this.#url, { method: 'HEAD', signal, cache: 'no-store' });
    return { status: response.status, version: versionOf(response, 0) };
  }

  /** Bytes of one response's body. */
  async *#body() {
    const reader = /** @type {ReadableStreamDefaultReader<Uint8Array>} */ (this.#reader);
    for (;;) {
      const { done, value } = await this.#inTime(reader.read());
      if (done) break;
      this.received += value.length;
      const skipped = Math.min(this.#skip, value.length);
      this.#skip -= skipped;
      if (skipped === value.length) continue;
      const bytes = value.subarray(skipped);
      if (this.size !== null && this.at + bytes.length > this.size)
        throw new FetchError('wrong', `expected ${this.size} bytes, found more`);
      this.at += bytes.length;
      this.#failures = 0;
      yield bytes;
    }
    if (this.#skip || (this.size !== null && this.at < this.size))
      throw new Setback('a connection that ended early');
  }

  async #request() {
    this.#controller = new AbortController();
    this.requests++;
    const response = await this.#inTime(
      fetch(this.#url, {
        headers: this.#headers(),
        signal: this.#controller.signal,
        cache: 'no-store',
      }),
    );
    try {
      this.#check(response);
    } catch (error) {
      this.close();
      throw error;
    }
    this.#reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  }

  #headers() {
    /** @type {Record<string, string>} */
    const headers = {};
    // Asked for from the first byte too: it keeps servers from compressing, and says the length.
    // Browsers refuse an answer that is compressed all the same: the next try does without.
    const refused = !this.version && this.#failures > 0;
    if (!this.version?.encoded && !refused) headers.Range = `bytes=${this.at}-`;
    const { etag, modified } = this.version ?? {};
    const strong = etag?.startsWith('"') ? etag : null;
    const validator = strong ?? (etag ? null : modified);
    if (this.at > 0 && headers.Range && this.#sameOrigin && validator)
      headers['If-Range'] = validator;
    return headers;
  }

  /** @param {Response} response */
  #check(response) {
    this.#checkStatus(response);
    const type = response.headers.get('content-type') ?? '';
    if (/^text\/html/i.test(type))
      throw new FetchError('answer', `expected a model file, found a web page (${type})`);
    const partial = response.status === 206;
    const found = versionOf(response, partial ? this.at : 0);
    const start = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1];
    if (partial && start !== undefined && Number(start) !== this.at)
      throw new FetchError('changed', `expected bytes from ${this.at} on, found from ${start} on`);
    if (partial && this.at > 0 && found.encoded)
      throw new FetchError('changed', 'expected plain bytes, found compressed ones');
    if (this.#expected !== null && found.total !== null && found.total !== this.#expected)
      throw new FetchError('answer', `expected ${this.#expected} bytes, found ${found.total}`);
    this.#compare(found, partial);
    this.#skip = partial ? 0 : this.at;
    // A server that names its version only now and then has still named it.
    const { etag, modified, total } = this.version ?? {};
    this.version = {
      etag: found.etag ?? etag ?? null,
      modified: found.modified ?? modified ?? null,
      total: found.total ?? total ?? null,
      encoded: found.encoded,
    };
  }

  /** @param {Response} response */
  #checkStatus({ ok, status, headers }) {
    if (ok) return;
    if (status === 416 && this.at > 0)
      throw new FetchError('changed', `expected bytes from ${this.at} on, found none`);
    if (status === 416) throw new FetchError('answer', 'expected a model file, found an empty one');
    const text = `expected status 200, found ${status}`;
    if (!RETRIED.has(status)) {
      const missing = status === 404 || status === 410;
      throw new FetchError(missing ? 'missing' : 'answer', text);
    }
    const pause = retryAfter(headers.get('retry-after'));
    if (pause !== undefined && pause > this.#network.longestWaitMilliseconds)
      throw new FetchError(
        'network',
        `${text} and the wish to wait ${Math.ceil(pause / 1000)} seconds`,
      );
    throw new Setback(text, pause);
  }

  /**
   * Throws unless the bytes to come belong to those that came.
   * @param {Version} found
   * @param {boolean} partial
   */
  #compare(found, partial) {
    if (!this.version) return;
    const same = sameVersion(this.version, found);
    // The whole file instead of its rest: only a version that is named proves that it is the same.
    if (same === false || (!partial && this.at > 0 && !same))
      throw new FetchError('changed', 'expected the file as it was, found another');
  }

  /**
   * Waits until the next try, or gives up.
   * @param {any} error
   */
  async #recover(error) {
    this.close();
    if (error instanceof FetchError) throw error;
    this.#failures++;
    const tries = this.version ? this.#network.tries : Math.min(FIRST_TRIES, this.#network.tries);
    const reason = String(error?.cause?.message || error?.message || error);
    if (this.#failures >= tries) throw new FetchError('network', this.#gaveUp(error, reason));
    const { backOffMilliseconds } = this.#network;
    const back = Math.min(LONGEST_BACK_OFF, backOffMilliseconds * 2 ** (this.#failures - 1));
    // Spread, so that many pages do not come back at once.
    const pause = error.pause ?? back * (0.75 + 0.5 * Math.random());
    await new Promise((resolve) => setTimeout(resolve, pause));
  }

  /**
   * @param {any} error
   * @param {string} reason
   */
  #gaveUp(error, reason) {
    if (error instanceof Setback && error.message.startsWith('expected ')) return error.message;
    if (!this.version) return `expected an answer, found ${reason}`;
    const whole = this.size === null ? '' : ` of ${this.size}`;
    return `expected the rest of the file after ${this.at}${whole} bytes, found ${reason}`;
  }

  /**
   * @template T
   * @param {Promise<T>} promise
   * @returns {Promise<T>}
   */
  #inTime(promise) {
    const { stallMilliseconds } = this.#network;
    const seconds = Math.round(stallMilliseconds / 100) / 10;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        promise.catch(() => {}); // it fails when the connection is ended
        reject(new Setback(`no byte for ${seconds} seconds`));
      }, stallMilliseconds);
      promise.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}

/**
 * Whether two answers spoke of one version of a file; null: they name none in common.
 * @param {Version} a
 * @param {Version} b
 * @returns {boolean | null}
 */
export function sameVersion(a, b) {
  if (a.total !== null && b.total !== null && a.total !== b.total) return false;
  /** @param {string} tag */
  const opaque = (tag) => tag.replace(/^W\//, '');
  if (a.etag !== null && b.etag !== null) return opaque(a.etag) === opaque(b.etag);
  if (a.modified !== null && b.modified !== null) return a.modified === b.modified;
  return null;
}

/**
 * @param {Response} response
 * @param {number} from The byte that its body begins with.
 * @returns {Version}
 */
function versionOf({ headers }, from) {
  const coding = headers.get('content-encoding');
  const encoded = coding !== null && coding !== 'identity';
  const range = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
  const length = headers.get('content-length');
  /** @type {number | null} */
  let total = null;
  if (encoded) total = null;
  else if (range !== undefined) total = Number(range);
  else if (length !== null) total = from + Number(length);
  return { etag: headers.get('etag'), modified: headers.get('last-modified'), total, encoded };
}

/**
 * @param {string | null} header Seconds, or a date.
 * @returns {number | undefined} Milliseconds.
 */
function retryAfter(header) {
  if (header === null) return undefined;
  const seconds = Number(header);
  const pause = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : 1000 * seconds;
  return Number.isNaN(pause) ? undefined : Math.max(0, pause);
}
