// A model is fetched only when its hash is known: pinned here, or named by the hub.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { inRoot } from '../../tools/lib/paths.mjs';
import { attempt } from '../../tools/lib/run.mjs';
import { models } from '../../tools/model.mjs';

const content = Buffer.from('GGUF and the rest');
const hash = createHash('sha256').update(content).digest('hex');

/** @type {Record<string, string>} what the hub says in answer to HEAD */
let linked = {};
/** @type {string[]} */
let asked = [];
/** @type {number[]} statuses to answer with first */
let busy = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  const status = busy.shift();
  if (status) response.writeHead(status, { 'Retry-After': '0' }).end();
  else if (request.method === 'HEAD') response.writeHead(302, { ...linked, Location: '/' }).end();
  else response.end(content);
});
const folder = mkdtempSync(path.join(tmpdir(), 'wick-model-'));
let hub = '';
before(async () => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  hub = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
});

async function fetch360M() {
  asked = [];
  const env = { HF_ENDPOINT: hub, WICK_MODELS: folder };
  return attempt([process.execPath, inRoot('tools', 'model.mjs'), '360M'], { env });
}
const target = path.join(folder, 'smollm2-360m.gguf');

test('every model has a hash, or a revision that cannot change', () => {
  for (const { expected, addresses } of Object.values(models))
    if (expected.sha256 === undefined)
      for (const address of addresses) assert.match(address, /\/resolve\/[0-9a-f]{40}\//);
});

test('without a hash from the hub nothing is fetched', async () => {
  linked = {};
  const result = await fetch360M();
  assert.equal(result.status, 1);
  assert.match(
    result.output,
    /^wick: http.*: expected the file's SHA-256 from the hub, found none$/m,
  );
  assert.ok(asked.length > 0 && asked.every((request) => request.startsWith('HEAD')));
});

test('other bytes than the hub named are refused', async () => {
  linked = { 'X-Linked-ETag': `"${'0'.repeat(64)}"` };
  const result = await fetch360M();
  assert.equal(result.status, 1);
  assert.match(result.output, /expected SHA-256 0{64}, found/);
  assert.equal(existsSync(target), false);
});

test('the hash that the hub names decides, and one line says so; a busy hub is asked again', async () => {
  linked = { 'X-Linked-ETag': `"${hash}"`, 'X-Linked-Size': String(content.length) };
  busy = [503, 429];
  const result = await fetch360M();
  assert.equal(result.status, 0, result.output);
  assert.ok(result.output.includes(`no SHA-256 is pinned here: held to the hub's own, ${hash}`));
  assert.ok(readFileSync(target).equals(content));
});
