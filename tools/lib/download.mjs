// Downloads that may break anywhere: bytes go to FILE.part, a journal beside it says of which
// version, and only a file of the right length and hash gets its name. A journal is whole or counts
// as absent, and then the download starts over.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, openSync, closeSync } from 'node:fs';
import { readSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { readJson, writeJson } from './json.mjs';
import { ToolError } from './run.mjs';

/**
 * @typedef {object} Expectation
 * @property {string} [sha256]
 * @property {number} [bytes]
 * @property {string} [magic] the file's first characters
 */

/** @typedef {{ etag: string | null, total: number | null }} Journal */

/** What a journal says; null when there is none that can be understood. @param {string} file */
function readJournal(file) {
  const { etag, total } = readJson(file) ?? {};
  const known =
    (etag === null || typeof etag === 'string') && (total === null || Number.isSafeInteger(total));
  return known ? /** @type {Journal} */ ({ etag, total }) : null;
}

/** The server asks to come again, after so many seconds where it says so. */
class BusyServer extends Error {
  /** @param {number} status @param {number | null} seconds */
  constructor(status, seconds) {
    super(`HTTP status ${status}`);
    this.seconds = seconds;
  }
}

/**
 * Retry-After in seconds: a number, or a date. Source: RFC 9110, section 10.2.3.
 * @param {string | null} header
 * @returns {number | null}
 */
export function retryAfter(header) {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, (date - Date.now()) / 1000);
}

/** @param {string} file */
export async function sha256(file) {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * What is wrong with a file, or null.
 * @param {string} file
 * @param {Expectation} expected
 */
export async function fault(file, expected) {
  const found = statSync(file).size;
  if (expected.bytes !== undefined && found !== expected.bytes) {
    return `expected ${expected.bytes} bytes, found ${found}`;
  }
  if (expected.magic !== undefined) {
    const start = Buffer.alloc(expected.magic.length);
    const descriptor = openSync(file, 'r');
    readSync(descriptor, start, 0, start.length, 0);
    closeSync(descriptor);
    const magic = start.toString('latin1');
    if (magic !== expected.magic) {
      return `expected ${JSON.stringify(expected.magic)} at its start, found ${JSON.stringify(magic)}`;
    }
  }
  if (expected.sha256 !== undefined) {
    const hash = await sha256(file);
    if (hash !== expected.sha256) return `expected SHA-256 ${expected.sha256}, found ${hash}`;
  }
  return null;
}

/** The total length that a response speaks of. @param {Response} response @param {number} from */
function totalOf(response, from) {
  const range = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '');
  if (range) return Number(range[1]);
  const length = response.headers.get('content-length');
  const encoded = response.headers.has('content-encoding');
  return length !== null && !encoded ? from + Number(length) : null;
}

/**
 * Throws for a status that is no success: a BusyServer, else a ToolError, which is final.
 * @param {string} url
 * @param {Response} response
 */
export async function refuse(url, response) {
  const { status, headers } = response;
  if (status < 400) return;
  await response.body?.cancel();
  if (status === 429 || status >= 500)
    throw new BusyServer(status, retryAfter(headers.get('retry-after')));
  throw new ToolError(`${url}: HTTP status ${status}`);
}

/**
 * One request: appends to the partial file what the server gives, from the byte reached.
 * @param {string} url
 * @param {string} part
 * @param {number} connectSeconds
 * @param {(done: number, total: number | null) => void} progress
 */
async function fetchOnce(url, part, connectSeconds, progress) {
  const journalFile = `${part}.json`;
  const journal = readJournal(journalFile);
  let from = journal && existsSync(part) ? statSync(part).size : 0;
  if (journal?.total != null && from === journal.total) return;
  const connect = new AbortController();
  const timer = setTimeout(() => connect.abort(), connectSeconds * 1000);
  const headers = from > 0 ? { range: `bytes=${from}-` } : undefined;
  /** @type {Response} */
  let response;
  try {
    response = await fetch(url, { headers, signal: connect.signal });
  } finally {
    clearTimeout(timer);
  }
  if (response.status === 416) {
    rmSync(part, { force: true });
    throw new Error('the server no longer has the part that was missing');
  }
  await refuse(url, response);
  if (!response.body) throw new ToolError(`${url}: expected a file, found an empty answer`);
  const now = { etag: response.headers.get('etag'), total: totalOf(response, from) };
  const same = journal && journal.etag === now.etag && journal.total === now.total;
  if (from > 0 && response.status === 206 && !same) {
    await response.body.cancel();
    rmSync(part, { force: true });
    throw new Error('the file on the server changed');
  }
  if (response.status !== 206) from = 0;
  const descriptor = openSync(part, from > 0 ? 'a' : 'w');
  try {
    writeJson(journalFile, now);
    for await (const chunk of response.body) {
      writeSync(descriptor, chunk);
      from += chunk.length;
      progress(from, now.total);
    }
  } finally {
    closeSync(descriptor);
  }
  if (now.total !== null && from !== now.total) throw new Error('the connection ended early');
}

/** Nobody waits longer than this for a server that is busy. */
const longestWaitSeconds = 60;

/**
 * Seconds to wait after a failed try, or null when the server asks for more patience than we have.
 * @param {unknown} error
 * @param {number} attempt
 */
function waitSeconds(error, attempt) {
  const asked = error instanceof BusyServer ? error.seconds : null;
  const own = 0.25 * 2 ** attempt;
  if (asked === null) return own;
  return asked > longestWaitSeconds ? null : Math.max(asked, own);
}

/**
 * Tries again after what may pass: a broken connection, a busy server. A ToolError is final.
 * @template T
 * @param {string} url
 * @param {number} tries
 * @param {() => Promise<T>} step
 */
export async function persist(url, tries, step) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (error instanceof ToolError) throw error;
      const wait = waitSeconds(error, attempt);
      if (attempt === tries || wait === null) {
        const reason = error instanceof Error ? (error.cause ?? error) : error;
        const words = reason instanceof Error ? reason.message || reason.name : String(reason);
        throw new ToolError(`${url}: ${words}`);
      }
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }
}

/**
 * Downloads url to target; a partial file of an earlier run is continued.
 * @param {string} url
 * @param {string} target
 * @param {Expectation} expected
 * @param {{ tries?: number, connectSeconds?: number, progress?: (done: number, total: number | null) => void }} [options]
 */
export async function download(url, target, expected, options = {}) {
  mkdirSync(path.dirname(target), { recursive: true });
  const part = `${target}.part`;
  const { tries = 4, connectSeconds = 10, progress = () => {} } = options;
  await persist(url, tries, () => fetchOnce(url, part, connectSeconds, progress));
  const wrong = await fault(part, expected);
  for (const journal of [`${part}.json`, `${part}.json.new`]) rmSync(journal, { force: true });
  if (wrong !== null) {
    rmSync(part, { force: true });
    throw new ToolError(`${url}: ${wrong}`);
  }
  renameSync(part, target);
}
