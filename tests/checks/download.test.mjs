// Downloads survive a server that breaks off, changes the file or sends something else.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { download, retryAfter } from '../../tools/lib/download.mjs';

const content = Buffer.from(Array.from({ length: 200000 }, (_, i) => (i * 7919) % 251));
content.write('GGUF');
const hash = createHash('sha256').update(content).digest('hex');
const expected = { sha256: hash, bytes: content.length, magic: 'GGUF' };

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */
/** @type {(request: Request, response: Response, n: number) => void} */
let behaviour;
/** @type {(string | undefined)[]} Range headers seen */
let ranges;
/** @type {import('node:http').Server} */
let server;
let url = '';
let folder = '';
let target = '';

/** @param {Request} request @param {Response} response @param {string} etag @param {number} [stopAfter] */
function send(request, response, etag, stopAfter) {
  const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const rest = content.subarray(from);
  response.writeHead(from > 0 ? 206 : 200, {
    ETag: etag,
    'Content-Length': rest.length,
    ...(from > 0
      ? { 'Content-Range': `bytes ${from}-${content.length - 1}/${content.length}` }
      : {}),
  });
  if (stopAfter === undefined) response.end(rest);
  else response.write(rest.subarray(0, stopAfter), () => setTimeout(() => response.destroy(), 20));
}

before(async () => {
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    behaviour(request, response, ranges.length);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  url = `http://127.0.0.1:${address.port}/model`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  if (folder) rmSync(folder, { recursive: true });
  folder = mkdtempSync(path.join(tmpdir(), 'wick-download-'));
  target = path.join(folder, 'model.gguf');
  ranges = [];
});

after(() => rmSync(folder, { recursive: true, force: true }));

const assertWhole = () => {
  assert.ok(readFileSync(target).equals(content));
  assert.deepEqual(readdirSync(folder), ['model.gguf']);
};

test('a connection that breaks is continued from the byte reached', async () => {
  behaviour = (request, response, n) => send(request, response, '"a"', n === 1 ? 50000 : undefined);
  await download(url, target, expected);
  assertWhole();
  assert.equal(ranges.length, 2);
  assert.equal(ranges[0], undefined);
  assert.match(ranges[1] ?? '', /^bytes=\d+-$/);
});

test('an interrupted run is continued by the next one', async () => {
  behaviour = (request, response, n) => send(request, response, '"a"', n === 1 ? 50000 : undefined);
  await assert.rejects(download(url, target, expected, { tries: 1 }));
  assert.equal(existsSync(target), false);
  await download(url, target, expected);
  assertWhole();
  assert.match(ranges[1] ?? '', /^bytes=\d+-$/);
});

test('a file that changed in between starts over', async () => {
  behaviour = (request, response, n) =>
    n === 1 ? send(request, response, '"old"', 50000) : send(request, response, '"new"');
  await download(url, target, expected);
  assertWhole();
});

test('a partial file of unknown origin is not trusted', async () => {
  writeFileSync(`${target}.part`, 'GGUFrubbish');
  behaviour = (request, response) => send(request, response, '"a"');
  await download(url, target, expected);
  assertWhole();
  assert.deepEqual(ranges, [undefined]);
});

test('a journal that is torn, or says something else, counts as absent', async () => {
  behaviour = (request, response) => send(request, response, '"a"');
  for (const journal of [
    '',
    '{"etag":"\\"a',
    'null',
    '{"etag":1}',
    '{"etag":"\\"a\\"","total":"5"}',
  ]) {
    writeFileSync(`${target}.part`, 'GG');
    writeFileSync(`${target}.part.json`, journal);
    await download(url, target, expected);
    assertWhole();
    rmSync(target);
  }
  assert.deepEqual(new Set(ranges), new Set([undefined]));
});

test('the journal is whole at every moment, and goes with the partial file', async () => {
  behaviour = (request, response) => send(request, response, '"a"', 50000);
  await assert.rejects(download(url, target, expected, { tries: 1 }));
  assert.deepEqual(readdirSync(folder).sort(), ['model.gguf.part', 'model.gguf.part.json']);
  const journal = JSON.parse(readFileSync(`${target}.part.json`, 'utf8'));
  assert.deepEqual(journal, { etag: '"a"', total: content.length });
  // It is replaced, never written in place.
  const before = statSync(`${target}.part.json`).ino;
  await assert.rejects(download(url, target, expected, { tries: 1 }));
  assert.notEqual(statSync(`${target}.part.json`).ino, before);
});

test('a server that is busy is asked again', async () => {
  for (const status of [429, 500, 502, 503]) {
    ranges = [];
    behaviour = (request, response, n) =>
      n === 1
        ? response.writeHead(status, { 'Retry-After': '0' }).end('later')
        : send(request, response, '"a"');
    await download(url, target, expected);
    assertWhole();
    assert.equal(ranges.length, 2, `status ${status}`);
    rmSync(target);
  }
});

test('a busy server keeps what was received, and is not asked for ever', async () => {
  behaviour = (request, response, n) =>
    n === 1
      ? send(request, response, '"a"', 50000)
      : n === 2
        ? response.writeHead(503).end()
        : send(request, response, '"a"');
  await download(url, target, expected);
  assertWhole();
  assert.match(ranges[2] ?? '', /^bytes=\d+-$/);

  rmSync(target);
  ranges = [];
  behaviour = (request, response) => response.writeHead(503, { 'Retry-After': '0' }).end();
  await assert.rejects(download(url, target, expected, { tries: 2 }), /HTTP status 503/);
  assert.equal(ranges.length, 2);
  ranges = [];
  behaviour = (request, response) => response.writeHead(429, { 'Retry-After': '86400' }).end();
  await assert.rejects(download(url, target, expected), /HTTP status 429/);
  assert.equal(ranges.length, 1);
});

test('Retry-After is a number of seconds or a date', () => {
  assert.equal(retryAfter(null), null);
  assert.equal(retryAfter('7'), 7);
  assert.equal(retryAfter('soon'), null);
  assert.equal(retryAfter('Wed, 21 Oct 2015 07:28:00 GMT'), 0);
  const date = new Date(Date.now() + 3600_000).toUTCString();
  assert.ok(Math.abs((retryAfter(date) ?? 0) - 3600) < 60);
});

test('an error page is not the model, and leaves nothing behind', async () => {
  behaviour = (request, response) => response.end('<!doctype html>Please sign in');
  await assert.rejects(download(url, target, expected), /expected 200000 bytes/);
  await assert.rejects(download(url, target, { magic: 'GGUF' }), /expected "GGUF" at its start/);
  assert.deepEqual(readdirSync(folder), []);
});

test('a refusal is not tried again', async () => {
  for (const status of [401, 403, 404]) {
    ranges = [];
    behaviour = (request, response) => response.writeHead(status).end();
    await assert.rejects(download(url, target, expected), new RegExp(`HTTP status ${status}`));
    assert.equal(ranges.length, 1);
  }
});

test('wrong bytes of the right length are refused', async () => {
  behaviour = (request, response) => {
    const other = Buffer.from(content);
    other[100] ^= 1;
    response.end(other);
  };
  await assert.rejects(download(url, target, expected), /expected SHA-256/);
  assert.deepEqual(readdirSync(folder), []);
});
