// The development server's answers, by the HTTP specification (RFC 9110) and the headers that
// cross-origin isolation asks for.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import os, { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { addressOf, namesOf } from '../../tools/lib/guard.mjs';
import { parseRange, startServer } from '../../tools/serve.mjs';

/** @type {string} */
let folder;
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'wick-serve-'));
  const site = path.join(folder, 'site');
  mkdirSync(path.join(site, 'part'), { recursive: true });
  mkdirSync(path.join(site, '.hidden'));
  mkdirSync(path.join(folder, 'weights'));
  writeFileSync(path.join(folder, 'secret.txt'), 'secret');
  writeFileSync(path.join(site, 'index.html'), '<!doctype html>home');
  writeFileSync(path.join(site, 'part', 'index.html'), '<!doctype html>part');
  writeFileSync(path.join(site, '.hidden', 'a.txt'), 'hidden');
  writeFileSync(path.join(site, 'a.mjs'), 'export {};');
  writeFileSync(path.join(site, 'empty.txt'), '');
  symlinkSync(path.join(folder, 'secret.txt'), path.join(site, 'link.txt'));
  writeFileSync(path.join(folder, 'weights', 'm.gguf'), '0123456789');
  server = await startServer({
    mounts: [
      { prefix: '/', folder: site },
      { prefix: '/models/', folder: path.join(folder, 'weights') },
    ],
  });
});

after(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * A request whose path is sent as it is written (fetch would tidy it).
 * @param {string} target
 * @param {{ method?: string, port?: number, headers?: Record<string, string> }} [options]
 * @returns {Promise<{ status: number, headers: import('node:http').IncomingHttpHeaders, body: string }>}
 */
function ask(target, options = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: server.port, path: target, agent: false, ...options },
      (response) => {
        let body = '';
        response.setEncoding('latin1').on('data', (text) => (body += text));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        );
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

test('pages are cross-origin isolated, typed and under the policy', async () => {
  const { status, headers, body } = await ask('/');
  assert.equal(status, 200);
  assert.match(body, /home/);
  assert.equal(headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
  assert.equal(headers['cross-origin-embedder-policy'], 'require-corp');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /script-src 'self' 'wasm-unsafe-eval'/);
  assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'/);
  assert.equal((await ask('/a.mjs')).headers['content-type'], 'text/javascript; charset=utf-8');
  assert.equal((await ask('/models/m.gguf')).headers['content-type'], 'application/octet-stream');
});

test('a folder is its index, after a redirect to the slash', async () => {
  const redirect = await ask('/part');
  assert.equal(redirect.status, 301);
  assert.equal(new URL(String(redirect.headers.location), `${server.url}part`).pathname, '/part/');
  assert.match((await ask('/part/')).body, /part/);
  assert.equal((await ask('/models/')).status, 404);
  assert.equal((await ask('/a.mjs/')).status, 404);
});

test('nothing outside the folders, however it is spelled', async () => {
  const climbing = [
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/part/../../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%5csecret.txt',
    '/models/../secret.txt',
    '/models/%2e%2e%2fsecret.txt',
    '/link.txt',
    '/.hidden/a.txt',
    '/a.mjs%00.txt',
    '/%zz',
    '//etc/passwd',
    'secret.txt',
  ];
  for (const target of climbing) {
    const { status, body } = await ask(target);
    assert.ok(status === 400 || status === 404, `${target} gave ${status}`);
    assert.doesNotMatch(body, /secret|hidden|root:/);
  }
  // Encoded twice it names a file that does not exist.
  assert.equal((await ask('/%252e%252e/secret.txt')).status, 404);
});

test('ranges', async () => {
  const part = await ask('/models/m.gguf', { headers: { range: 'bytes=3-5' } });
  assert.equal(part.status, 206);
  assert.equal(part.body, '345');
  assert.equal(part.headers['content-range'], 'bytes 3-5/10');
  assert.equal(part.headers['content-length'], '3');
  assert.equal((await ask('/models/m.gguf', { headers: { range: 'bytes=7-' } })).body, '789');
  assert.equal((await ask('/models/m.gguf', { headers: { range: 'bytes=-2' } })).body, '89');
  assert.equal((await ask('/models/m.gguf', { headers: { range: 'bytes=8-99' } })).body, '89');
  const beyond = await ask('/models/m.gguf', { headers: { range: 'bytes=10-' } });
  assert.equal(beyond.status, 416);
  assert.equal(beyond.headers['content-range'], 'bytes */10');
  // Several ranges, or another unit: everything, as the specification allows.
  const several = await ask('/models/m.gguf', { headers: { range: 'bytes=0-1,4-5' } });
  assert.equal(several.status, 200);
  assert.equal(several.body, '0123456789');
  assert.equal(parseRange('bytes=5-3', 10), 'none');
  assert.equal(parseRange('bytes=-0', 10), 'unsatisfiable');
  assert.equal(parseRange('bytes=0-0', 0), 'unsatisfiable');
});

test('conditions', async () => {
  const { etag } = (await ask('/models/m.gguf')).headers;
  assert.ok(etag);
  const same = await ask('/models/m.gguf', { headers: { 'if-none-match': `"x", W/${etag}` } });
  assert.equal(same.status, 304);
  assert.equal(same.body, '');
  assert.equal((await ask('/models/m.gguf', { headers: { 'if-none-match': '"x"' } })).status, 200);
  const range = 'bytes=0-0';
  const held = await ask('/models/m.gguf', { headers: { range, 'if-range': etag } });
  assert.equal(held.status, 206);
  const changed = await ask('/models/m.gguf', { headers: { range, 'if-range': '"old"' } });
  assert.equal(changed.status, 200);
  writeFileSync(path.join(folder, 'weights', 'm.gguf'), '9876543210');
  assert.notEqual((await ask('/models/m.gguf')).headers.etag, etag);
  writeFileSync(path.join(folder, 'weights', 'm.gguf'), '0123456789');
});

test('HEAD has the headers and no body; other methods are refused', async () => {
  const head = await ask('/models/m.gguf', { method: 'HEAD' });
  assert.equal(head.headers['content-length'], '10');
  assert.equal(head.body, '');
  assert.equal((await ask('/empty.txt')).status, 200);
  const post = await ask('/', { method: 'POST' });
  assert.equal(post.status, 405);
  assert.equal(post.headers.allow, 'GET, HEAD');
});

test('a taken port: the next one', async () => {
  const second = await startServer({ port: server.port, mounts: [] });
  assert.notEqual(second.port, server.port);
  await second.close();
});

test('only its own names are answered to, so that no other site can read it under a name of its own', async () => {
  const { port } = server;
  for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, '[::1]', 'LOCALHOST'])
    assert.equal((await ask('/', { headers: { host } })).status, 200, host);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    '10.0.0.1',
  ]) {
    const { status, body } = await ask('/models/m.gguf', { headers: { host } });
    assert.equal(status, 421, host);
    assert.match(body, /^421: expected localhost or a name of this server \(\$HOST_NAMES/);
  }
  for (const host of ['a b', 'user@localhost', '[::1', 'localhost:x'])
    assert.equal((await ask('/', { headers: { host } })).status, 400, host);
});

test('a server that is bound to every address has any address, and the names it is given', () => {
  const everywhere = namesOf('0.0.0.0', ['wick.example']);
  for (const name of [
    '192.0.2.7',
    '2001:db8::1',
    'localhost',
    'wick.example',
    os.hostname().toLowerCase(),
  ])
    assert.ok(everywhere(name), name);
  assert.equal(everywhere('evil.example'), false);
  assert.ok(namesOf('Box.local')('box.local'));
});

test('a request may name the whole address, which then counts alone', async () => {
  const { port } = server;
  const whole = await ask(`http://127.0.0.1:${port}/models/m.gguf?x=1`);
  assert.equal(whole.status, 200);
  assert.equal(whole.body, '0123456789');
  const headers = { host: 'evil.example' };
  assert.equal((await ask(`http://localhost:${port}/`, { headers })).status, 200);
  assert.equal((await ask('http://evil.example/models/m.gguf')).status, 421);
  assert.equal((await ask(`http://user@127.0.0.1:${port}/`)).status, 400);
  assert.equal((await ask(`ftp://127.0.0.1:${port}/`)).status, 400);
  assert.deepEqual(addressOf('http://[::1]:80?a', ''), { path: '/?a', name: '::1' });
});

/** A connection that sends no whole request, and the promise of its end. @param {number} port */
async function openIdle(port) {
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {}).resume();
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n');
  return { socket, closed };
}

test('connections that wait are bounded and give way to one that asks', async () => {
  const site = { prefix: '/', folder: path.join(folder, 'site') };
  const small = await startServer({ mounts: [site], connections: 8, headerSeconds: 600 });
  try {
    const idle = [];
    for (let i = 0; i < 40; i++) idle.push(await openIdle(small.port));
    assert.equal((await ask('/', { port: small.port })).status, 200);
    // The request's own place made it one less.
    await Promise.all(idle.slice(0, 33).map(({ closed }) => closed));
    assert.deepEqual(
      idle.slice(33).map(({ socket }) => socket.closed),
      Array(7).fill(false),
    );
  } finally {
    await small.close();
  }
});

test('a request whose head does not come is given up', async () => {
  const small = await startServer({ mounts: [], headerSeconds: 1 });
  try {
    await (
      await openIdle(small.port)
    ).closed;
  } finally {
    await small.close();
  }
});
