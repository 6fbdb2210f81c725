/** The loader in Chromium against a server that misbehaves: what a reader gets in the end. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { BadServer } from './bad-server.mjs';
import { atPage, loadIn } from './loader-page.mjs';
import { launch, serveSite } from './support.mjs';

const TINY = readFileSync('web/models/tiny.gguf');
const OTHER = readFileSync('tests/golden/generality/type_q4_1.gguf');
/** As long as the other, and another: only its tag tells. */
const EDITED = Buffer.from(TINY);
EDITED[TINY.length >> 2] ^= 255;
const QUICK = { backOffMilliseconds: 20 };
const N = TINY.length;
/** @param {Buffer} bytes */
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
/** @type {BadServer} */
let server;
/** @type {Awaited<ReturnType<typeof atPage>>} */
let opened;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
  server = await new BadServer(site.url).start();
});
after(() => server?.close());
beforeEach(async () => {
  opened = await atPage(browser, server.url);
});
afterEach(async () => {
  const broken = opened.complaints.filter((text) => text.startsWith('policy:'));
  await opened.close();
  assert.deepEqual(broken, []);
});

/** @param {string} url @param {object} [options] */
const load = (url, options) => loadIn(opened.page, url, { network: QUICK, ...options });

/** @param {Awaited<ReturnType<typeof load>>} result @param {Buffer} bytes */
function assertWhole(result, bytes) {
  assert.equal(result.error, null);
  assert.deepEqual(
    result.kept.map(({ sha256 }) => sha256),
    [sha256(bytes)],
  );
  for (const { loaded, total } of result.progress) assert.ok(total === 0 || loaded <= total);
  assert.equal(result.progress.at(-1)?.loaded, bytes.length);
}

/** @param {import('./bad-server.mjs').Request} request */
const start = ({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]);

for (const share of [0.4, 0.99]) {
  test(`a connection killed at ${100 * share} % goes on from the byte reached`, async () => {
    const cutAt = Math.floor(share * N);
    const requests = server.file('/m/cut.gguf', TINY, { cutAt }, {});
    const result = await load('/m/cut.gguf');
    assertWhole(result, TINY);
    assert.equal(requests.length, 2);
    const from = start(requests[1]);
    assert.ok(from > 0 && from <= cutAt, `went on from ${from}`);
    assert.match(requests[1].ifRange ?? '', /^".+"$/);
    assert.equal(result.info?.files[0].restarts, 0);
  });
}

test('killed again and again it still arrives, and gives up where nothing comes', async () => {
  const cuts = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9].map((share) => ({ cutAt: share * N }));
  const steps = cuts.map(({ cutAt }) => ({ cutAt: Math.floor(cutAt) }));
  const requests = server.file('/m/often.gguf', TINY, ...steps, {});
  assertWhole(await load('/m/often.gguf'), TINY);
  assert.ok(requests.length >= 8);
  const dead = server.file('/m/dead.gguf', TINY, { cutAt: 1000 });
  const { error } = await load('/m/dead.gguf');
  assert.match(error ?? '', /^wick: http\S+dead\.gguf: expected the rest of the file after/);
  assert.ok(dead.length <= 7, `${dead.length} requests`);
});

for (const [how, step] of Object.entries({
  'the server answers with the whole': {},
  'the server answers with a part': { noIfRange: true },
})) {
  test(`a file that changed between parts is read from its start: ${how}`, async () => {
    server.file('/m/changed.gguf', TINY, { cutAt: N / 2 }, { bytes: EDITED, ...step });
    const result = await load('/m/changed.gguf');
    assertWhole(result, EDITED);
    assert.equal(result.info?.files[0].restarts, 1);
  });
}

test('a file that changed without a word is told by its hash', async () => {
  const steps = [
    { cutAt: N / 2, noValidator: true },
    { bytes: TINY, noValidator: true },
  ];
  server.file('/m/silent.gguf', EDITED, ...steps);
  server.file('/m/silent.json', manifest('silent.gguf', TINY));
  const result = await load('/m/silent.json');
  assert.equal(result.error, null);
  assert.equal(result.kept.find(({ name }) => /gguf/.test(name))?.sha256, sha256(TINY));
  assert.equal(result.info?.files[0].restarts, 1);
});

test('a web page with status 200 is refused in one line, and the next load heals', async () => {
  const page = { body: '<!doctype html><title>Sign in</title>' };
  const html = { ...page, headers: { 'Content-Type': 'text/html' } };
  server.file('/m/html.gguf', TINY, html, { ...page, headers: {} }, {});
  const first = await load('/m/html.gguf');
  const line = /^wick: http\S+html\.gguf: expected a model file, found a web page \(text\/html\)$/;
  assert.match(first.error ?? '', line);
  const second = await load('/m/html.gguf');
  assert.match(second.error ?? '', /html\.gguf: expected a gguf file, found "<!doctype" \.\.\.$/);
  for (const { kept } of [first, second]) assert.deepEqual(kept, []);
  assertWhole(await load('/m/html.gguf'), TINY);
});

/** @param {string} url @param {Buffer} bytes @param {object} [other] */
function manifest(url, bytes, other) {
  const file = { name: url, bytes: bytes.length, sha256: sha256(bytes), ...other };
  return Buffer.from(JSON.stringify({ wick: 1, files: [file] }));
}

test('a length or hash other than the manifest says is refused, and nothing is kept', async () => {
  server.file('/m/wrong.gguf', TINY);
  server.file('/m/length.json', manifest('wrong.gguf', TINY, { bytes: N + 1 }));
  server.file('/m/hash.json', manifest('wrong.gguf', TINY, { sha256: sha256(OTHER) }));
  const length = await load('/m/length.json');
  assert.match(length.error ?? '', /wrong\.gguf: expected \d+ bytes, found \d+$/);
  const hash = await load('/m/hash.json');
  const line = new RegExp(
    `wrong\\.gguf: expected SHA-256 ${sha256(OTHER)}, found ${sha256(TINY)}$`,
  );
  assert.match(hash.error ?? '', line);
  assert.ok(hash.kept.every(({ name }) => /\.json/.test(name)));
});

test('compressed on the way, the manifest gives the size and progress stays within it', async () => {
  server.file('/m/zip.gguf', TINY, { gzip: true, cutAt: 100_000 }, { gzip: true });
  server.file('/m/zip.json', manifest('zip.gguf', TINY));
  const result = await load('/m/zip.json');
  assert.equal(result.error, null);
  const weights = result.progress.filter(({ phase }) => phase === 'weights');
  assert.ok(weights.length > 0 && weights.every(({ total }) => total === N));
  assert.ok(weights.every(({ loaded }) => loaded <= N));
});

for (const [how, step] of Object.entries({
  'compressed without a manifest': { gzip: true },
  'no length': { noLength: true },
})) {
  test(`${how}: progress is open, and the file is whole`, async () => {
    server.file('/m/open.gguf', TINY, step);
    assertWhole(await load('/m/open.gguf'), TINY);
  });
}

test('no ranges: after a cut the whole comes again, and what is here is passed over', async () => {
  const requests = server.file(
    '/m/norange.gguf',
    TINY,
    { noRange: true, cutAt: N / 2 },
    { noRange: true },
  );
  const result = await load('/m/norange.gguf');
  assertWhole(result, TINY);
  assert.equal(result.info?.files[0].restarts, 0);
  assert.equal(requests.length, 2);
  const silent = { noRange: true, noValidator: true };
  server.file('/m/nothing.gguf', TINY, { ...silent, cutAt: N / 2 }, silent);
  const again = await load('/m/nothing.gguf');
  assert.equal(again.error, null);
  assert.equal(again.info?.files[0].restarts, 1);
});

test('429 and 503 are waited for as long as they ask, but not for ever', async () => {
  const soon = { status: 429, headers: { 'Retry-After': '1' } };
  const past = { status: 503, headers: { 'Retry-After': new Date(0).toUTCString() } };
  const busy = server.file('/m/busy.gguf', TINY, soon, past, {});
  const began = performance.now();
  assertWhole(await load('/m/busy.gguf'), TINY);
  assert.equal(busy.length, 3);
  // At least so long: a machine that is slow only makes it longer.
  assert.ok(performance.now() - began >= 1000);
  const later = { status: 503, headers: { 'Retry-After': '3600' } };
  const requests = server.file('/m/later.gguf', TINY, later);
  const { error } = await load('/m/later.gguf');
  assert.match(error ?? '', /later\.gguf: expected status 200, found 503 .* 3600 seconds/);
  assert.equal(requests.length, 1);
});

test('a server in trouble is asked a few times, one that says no only once', async () => {
  const trouble = server.file('/m/500.gguf', TINY, { status: 500 });
  assert.match(
    (await load('/m/500.gguf')).error ?? '',
    /500\.gguf: expected status 200, found 500/,
  );
  assert.equal(trouble.length, 3);
  const no = server.file('/m/403.gguf', TINY, { status: 403 });
  assert.match(
    (await load('/m/403.gguf')).error ?? '',
    /403\.gguf: expected status 200, found 403/,
  );
  assert.equal(no.length, 1);
});

test('a connection that stalls is replaced', async () => {
  const stallAt = Math.floor(N / 3);
  const requests = server.file('/m/stall.gguf', TINY, { stallAt }, {});
  const result = await load('/m/stall.gguf', { network: { ...QUICK, stallMilliseconds: 500 } });
  assertWhole(result, TINY);
  assert.equal(start(requests[1]), stallAt);
});

test('from another origin: no preflight, and what can be seen tells a changed file', async () => {
  const headers = { 'Access-Control-Allow-Origin': '*' };
  const [here, there] = await Promise.all([
    new BadServer(site.url, false).start(),
    new BadServer('').start(),
  ]);
  const { page, close } = await atPage(browser, here.url);
  const cut = { cutAt: N / 2, headers };
  const same = there.file('/same.gguf', TINY, cut, { headers });
  const changed = there.file('/changed.gguf', TINY, cut, { bytes: OTHER, headers });
  const options = { network: QUICK };
  const whole = await loadIn(page, `${there.url}/same.gguf`, options);
  assertWhole(whole, TINY);
  assert.deepEqual(
    same.map(({ method, ifRange }) => [method, ifRange]),
    [
      ['GET', undefined],
      ['GET', undefined],
    ],
  );
  assert.ok(start(same[1]) > 0);
  const other = await loadIn(page, `${there.url}/changed.gguf`, options);
  assert.equal(other.error, null);
  assert.deepEqual(
    other.kept.map(({ sha256 }) => sha256).sort(),
    [sha256(TINY), sha256(OTHER)].sort(),
  );
  assert.equal(other.info?.files[0].restarts, 1);
  assert.ok(changed.every(({ method }) => method === 'GET'));
  await close();
  for (const server of [here, there]) server.close();
});
