// Downloads that may break anywhere: bytes go to FILE.part, a journal beside it says of which
// version, and only a file of the right length and hash gets its name.
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
} from 'node:fs';
import { readSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { ToolError } from './run.mjs';

/**
 * @typedef {object} Expectation
 * @property {string} [sha256]
 * @property {number} [bytes]
 * @property {string} [magic] the file's first characters
 */

/** @typedef {{ etag: string | null, total: number | null }} Journal */

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
 * One request: appends to the partial file what the server gives, from the byte reached.
 * @param {string} url
 * @param {string} part
 * @param {number} connectSeconds
 * @param {(done: number, total: number | null) => void} progress
 */
async function fetchOnce(url, part, connectSeconds, progress) {
  const journalFile = `${part}.json`;
  const journal = existsSync(journalFile)
    ? /** @type {Journal} */ (JSON.parse(readFileSync(journalFile, 'utf8')))
    : null;
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
  if (!response.ok || !response.body) throw new FatalDownload(`HTTP status ${response.status}`);
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
    writeFileSync(journalFile, JSON.stringify(now));
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

/** Trying again will not help. */
class FatalDownload extends Error {}

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
  const tries = options.tries ?? 4;
  for (let attempt = 1; ; attempt++) {
    try {
      await fetchOnce(url, part, options.connectSeconds ?? 10, options.progress ?? (() => {}));
      break;
    } catch (error) {
      const reason = error instanceof Error ? (error.cause ?? error) : error;
      const words = reason instanceof Error ? reason.message || reason.name : String(reason);
      if (error instanceof FatalDownload || attempt === tries)
        throw new ToolError(`${url}: ${words}`);
      await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
    }
  }
  const wrong = await fault(part, expected);
  rmSync(`${part}.json`, { force: true });
  if (wrong !== null) {
    rmSync(part, { force: true });
    throw new ToolError(`${url}: ${wrong}`);
  }
  renameSync(part, target);
}
