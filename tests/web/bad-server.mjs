/**
 * A server that misbehaves on command: the site behind it, and files that it breaks off, stalls,
 * changes, compresses or refuses, request by request.
 */
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

const CUT_MILLISECONDS = 250;

/**
 * What one request meets; everything left out is as it should be.
 * @typedef {object} Step
 * @property {Buffer} [bytes] From now on the file is another one.
 * @property {number} [cutAt] The connection ends before this byte of the file.
 * @property {number} [stallAt] Nothing more comes from this byte of the file on.
 * @property {Promise<unknown>} [until] The rest of what it stalled before comes after that.
 * @property {number} [status] Answers this and no file.
 * @property {Record<string, string>} [headers]
 * @property {string} [body] Sent in place of the file.
 * @property {boolean} [gzip]
 * @property {boolean} [noLength]
 * @property {boolean} [noRange]
 * @property {boolean} [noIfRange] Answers with a part whatever the version.
 * @property {boolean} [noValidator] Says neither ETag nor Last-Modified.
 *
 * @typedef {object} Request
 * @property {string} method
 * @property {string | undefined} range
 * @property {string | undefined} ifRange
 * @property {number} sent Bytes of the body that were written.
 *
 * @typedef {{ bytes: Buffer, steps: Step[], next: number, requests: Request[] }} File
 */

/** @param {Buffer} bytes Its length and a sum: another file, another tag. */
const etagOf = (bytes) => `"${bytes.length}-${bytes.reduce((sum, byte) => (sum * 31 + byte) | 0)}"`;

export class BadServer {
  /** @type {Map<string, File>} */
  #files = new Map();
  #site;
  #policy;
  #server = createServer((request, response) => this.#handle(request, response));
  url = '';

  /**
   * @param {string} site
   * @param {boolean} [policy] False: the site's pages may connect anywhere.
   */
  constructor(site, policy = true) {
    this.#site = site;
    this.#policy = policy;
  }

  async start() {
    await new Promise((resolve) => this.#server.listen(0, '127.0.0.1', () => resolve(null)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    this.url = `http://127.0.0.1:${port}`;
    return this;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /**
   * Serves bytes under a path: the n-th GET meets the n-th step, all later ones the last.
   * @param {string} path
   * @param {Buffer} bytes
   * @param {...Step} steps
   * @returns {Request[]} All requests, those to come too.
   */
  file(path, bytes, ...steps) {
    /** @type {File} */
    const file = { bytes, steps, next: 0, requests: [] };
    this.#files.set(path, file);
    return file.requests;
  }

  /** @param {string} path From now on 404. */
  remove(path) {
    this.#files.delete(path);
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #handle(request, response) {
    const file = this.#files.get(request.url ?? '');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    if (file) return this.#answer(file, request, response);
    const answer = await fetch(new URL(request.url ?? '/', this.#site), { method: request.method });
    const headers = Object.fromEntries(answer.headers);
    if (!this.#policy) delete headers['content-security-policy'];
    response.writeHead(answer.status, headers);
    response.end(Buffer.from(await answer.arrayBuffer()));
  }

  /**
   * @param {File} file
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  #answer(file, request, response) {
    const { method = '' } = request;
    const { range, 'if-range': ifRange } = request.headers;
    /** @type {Request} */
    const entry = { method, range, ifRange, sent: 0 };
    file.requests.push(entry);
    const number = method === 'GET' ? file.next++ : file.next;
    const step = file.steps[Math.min(number, file.steps.length - 1)] ?? {};
    if (step.bytes) file.bytes = step.bytes;
    const status = step.status ?? 0;
    if (status || step.body !== undefined) {
      response.writeHead(status || 200, step.headers).end(step.body ?? String(status));
      return;
    }
    const { bytes } = file;
    if (!step.noValidator) response.setHeader('ETag', etagOf(bytes));
    const from = rangeStart(step, range, ifRange, bytes);
    if (from !== null && from >= bytes.length) {
      response
        .writeHead(416, { 'Content-Range': `bytes */${bytes.length}`, ...step.headers })
        .end();
      return;
    }
    if (step.gzip) {
      const zipped = gzipSync(bytes);
      response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': zipped.length });
      this.#send(response, method, zipped, 0, step, entry);
      return;
    }
    if (!step.noLength) response.setHeader('Content-Length', bytes.length - (from ?? 0));
    if (from !== null)
      response.setHeader('Content-Range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`);
    response.writeHead(from === null ? 200 : 206, step.headers);
    this.#send(response, method, bytes, from ?? 0, step, entry);
  }

  /**
   * @param {import('node:http').ServerResponse} response
   * @param {string} method
   * @param {Buffer} bytes
   * @param {number} from
   * @param {Step} step
   * @param {Request} entry
   */
  #send(response, method, bytes, from, { cutAt, stallAt, until }, entry) {
    if (method === 'HEAD') return response.end();
    const end = Math.min(bytes.length, cutAt ?? stallAt ?? bytes.length);
    const part = bytes.subarray(from, end);
    entry.sent += part.length;
    if (cutAt !== undefined) {
      response.write(part);
      // A browser forgets what it had not handed on yet when a connection breaks.
      setTimeout(() => response.socket?.destroy(), CUT_MILLISECONDS);
    } else if (stallAt !== undefined) {
      response.write(part);
      until?.then(() => {
        entry.sent += bytes.length - end;
        response.end(bytes.subarray(end));
      });
    } else {
      response.end(part);
    }
  }
}

/**
 * The first byte of the part that is asked for; null: the whole file is the answer.
 * @param {Step} step
 * @param {string | undefined} range
 * @param {string | undefined} ifRange
 * @param {Buffer} bytes
 */
function rangeStart({ noRange, noLength, noIfRange, gzip }, range, ifRange, bytes) {
  const match = /^bytes=(\d+)-$/.exec(range ?? '');
  if (!match || noRange || noLength || gzip) return null;
  if (ifRange !== undefined && !noIfRange && ifRange !== etagOf(bytes)) return null;
  return Number(match[1]);
}

/** @param {Request[]} requests Those that fetched a body. */
export const gets = (requests) => requests.filter(({ method }) => method === 'GET');
