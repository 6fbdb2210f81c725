/** What a page keeps of a model: across loads, reloads, tabs, and when the copy or the room is bad. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { BadServer, gets } from './bad-server.mjs';
import { atPage, beginIn, endIn, inPage, keptIn, loadIn, spoil } from './loader-page.mjs';
import { hasSmolLM2, launch, serveSite } from './support.mjs';

const TINY = readFileSync('web/models/tiny.gguf');
const OTHER = readFileSync('tests/golden/generality/type_q4_1.gguf');
const SHARDED = 'tests/golden/generality/qwen2_sharded_bf16/';
const QUICK = { network: { backOffMilliseconds: 20 } };
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
/** @type {import('playwright-core').Page} */
let page;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
  server = await new BadServer(site.url).start();
});
after(() => server?.close());
beforeEach(async () => {
  opened = await atPage(browser, server.url);
  ({ page } = opened);
});
afterEach(async () => {
  const broken = opened.complaints.filter((text) => text.startsWith('policy:'));
  await opened.close();
  assert.deepEqual(broken, []);
});

/** @param {string} url @param {import('../../web/lib/load.js').LoadOptions} [options] */
const load = (url, options) => loadIn(page, url, { ...QUICK, ...options });

/** @param {import('./bad-server.mjs').Request} request */
const start = ({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]);

/** @param {string} name @param {Buffer} bytes */
const manifest = (name, bytes) =>
  Buffer.from(
    JSON.stringify({ wick: 1, files: [{ name, bytes: bytes.length, sha256: sha256(bytes) }] }),
  );

test('the second load fetches nothing, also when the server has gone', async () => {
  const requests = server.file('/m/twice.gguf', TINY);
  const first = await load('/m/twice.gguf');
  assert.equal(first.info?.files[0].kept, 'opfs');
  const second = await load('/m/twice.gguf');
  assert.equal(second.info?.files[0].storeBytes, N);
  server.remove('/m/twice.gguf');
  const third = await load('/m/twice.gguf');
  assert.deepEqual([second.text, third.text], [first.text, first.text]);
  assert.equal(gets(requests).length, 1);
});

test('a file that the server has replaced is fetched anew', async () => {
  server.file('/m/new.gguf', TINY);
  await load('/m/new.gguf');
  server.file('/m/new.gguf', OTHER);
  const { error, kept } = await load('/m/new.gguf');
  assert.equal(error, null);
  assert.deepEqual(
    kept.map(({ sha256 }) => sha256),
    [sha256(OTHER)],
  );
});

/** @type {Record<string, () => Promise<void>>} */
const SPOILERS = {
  'its first bytes are others': () => spoil(page, /\.gguf$/, 0, 'oops'),
  'its end is missing': () => spoil(page, /\.gguf$/, 0, 'GGUF', N - 1000),
  'a weight is another, which the hash tells': () => spoil(page, /\.gguf$/, N - 999, 'oops'),
  'its journal is torn': () => spoil(page, /\.journal$/, 0, '{', 1),
};
for (const [how, spoilIt] of Object.entries(SPOILERS)) {
  test(`a kept copy that is bad heals by itself: ${how}`, async () => {
    server.file('/m/heal.gguf', TINY);
    server.file('/m/heal.json', manifest('heal.gguf', TINY));
    const good = await load('/m/heal.json');
    await spoilIt();
    const { error, text, kept, info } = await load('/m/heal.json');
    assert.deepEqual([error, text], [null, good.text]);
    assert.equal(kept.find(({ name }) => /gguf/.test(name))?.sha256, sha256(TINY));
    assert.equal(info?.files[0].networkBytes, N);
  });
}

test('an abort ends all work, and the next load goes on from there', async () => {
  const requests = server.file('/m/abort.gguf', TINY, { stallAt: N / 2 }, {});
  await beginIn(page, '/m/abort.gguf');
  assert.equal((await endIn(page, true)).error, 'AbortError');
  for (let i = 0; page.workers().length && i < 200; i++) await page.waitForTimeout(50);
  assert.equal(page.workers().length, 0);
  const [partial] = await keptIn(page);
  assert.ok(partial.size > 0 && partial.size <= N / 2);
  const { error, info } = await load('/m/abort.gguf');
  assert.equal(error, null);
  assert.equal(start(gets(requests)[1]), partial.size);
  assert.equal(info?.files[0].storeBytes, partial.size);
});

test('a reload of the page goes on from the byte reached', async () => {
  const requests = server.file('/m/reload.gguf', TINY, { stallAt: N / 2 }, {});
  await beginIn(page, '/m/reload.gguf');
  await page.reload();
  const { error, kept } = await load('/m/reload.gguf');
  assert.equal(error, null);
  const from = start(gets(requests)[1]);
  assert.ok(from > 0 && from <= N / 2, `went on from ${from}`);
  assert.equal(kept[0].sha256, sha256(TINY));
});

test('a part that was kept of an older file is not gone on from', async () => {
  server.file('/m/older.gguf', TINY, { stallAt: N / 2 }, {});
  await beginIn(page, '/m/older.gguf');
  await endIn(page, true);
  server.file('/m/older.gguf', OTHER);
  const { error, kept } = await load('/m/older.gguf');
  assert.equal(error, null);
  assert.equal(kept[0].sha256, sha256(OTHER));
});

for (const where of ['two tabs', 'one tab']) {
  test(`${where}, two loads at once: one download`, async () => {
    /** @type {(value?: unknown) => void} */
    let goOn = () => {};
    const until = new Promise((resolve) => (goOn = resolve));
    const requests = server.file('/m/tabs.gguf', TINY, { stallAt: N / 2, until });
    const other = where === 'two tabs' ? await page.context().newPage() : page;
    if (other !== page) await other.goto(`${server.url}/icon.svg`);
    assert.equal(await beginIn(page, '/m/tabs.gguf'), 'weights');
    await page.evaluate(() => {
      const all = /** @type {any} */ (globalThis);
      all.first = all.begun;
    });
    assert.equal(await beginIn(other, '/m/tabs.gguf'), 'waiting');
    goOn();
    const second = await endIn(other);
    await page.evaluate(() => {
      const all = /** @type {any} */ (globalThis);
      all.begun = all.first;
    });
    const first = await endIn(page);
    assert.deepEqual([first.error, second.error], [null, null]);
    assert.equal(first.text, second.text);
    assert.equal(second.file.storeBytes, N);
    assert.deepEqual(
      gets(requests).map(({ sent }) => sent),
      [N],
    );
  });
}

for (const keep of /** @type {const} */ ([true, 'cache'])) {
  test(`without room in ${keep === true ? 'OPFS' : keep} it runs from memory, and says so`, async () => {
    const session = await page.context().newCDPSession(page);
    const quota = { origin: server.url, quotaSize: N / 2 };
    await session.send('Storage.overrideQuotaForOrigin', quota);
    server.file('/m/full.gguf', TINY);
    const { error, info, kept } = await load('/m/full.gguf', { keep });
    assert.equal(error, null);
    const line = /^not kept: .+ \(\d+ MB of \d+ MB of storage are in use\)$/;
    assert.match(info?.files[0].note ?? '', line);
    assert.equal(info?.files[0].kept, null);
    assert.deepEqual(kept, []);
  });
}

test('where there is no OPFS the Cache API keeps it, and goes on too', async () => {
  const cache = /** @type {const} */ ({ keep: 'cache' });
  const requests = server.file('/m/cache.gguf', TINY, { cutAt: N / 2 }, { status: 500 });
  const broken = await load('/m/cache.gguf', { ...cache, network: { tries: 2 } });
  assert.match(broken.error ?? '', /expected status 200, found 500$/);
  const more = server.file('/m/cache.gguf', TINY);
  const { error, info, text, kept } = await load('/m/cache.gguf', cache);
  assert.deepEqual([error, info?.files[0].kept, kept], [null, 'cache', []]);
  assert.ok(start(gets(more)[0]) > 0);
  assert.ok(gets(requests).length <= 3);
  const again = await load('/m/cache.gguf', cache);
  assert.deepEqual([again.info?.files[0].storeBytes, again.text], [N, text]);
});

test('nothing is kept where that is not wanted; what is kept is to stay', async () => {
  await page.evaluate(() => {
    const asked = { times: 0 };
    Object.assign(globalThis, { asked });
    navigator.storage.persist = async () => ++asked.times > 0;
  });
  const asked = () => page.evaluate(() => /** @type {any} */ (globalThis).asked.times);
  server.file('/m/none.gguf', TINY);
  const { error, info, kept } = await load('/m/none.gguf', { keep: false });
  assert.deepEqual([error, info?.files[0].kept, info?.files[0].note], [null, null, '']);
  assert.deepEqual(kept, []);
  assert.equal(await asked(), 0);
  assert.equal((await load('/m/none.gguf')).info?.files[0].kept, 'opfs');
  assert.equal(await asked(), 1);
});

test('what is kept is listed and freed', async () => {
  server.file('/m/a.gguf', TINY);
  server.file('/m/b.gguf', OTHER);
  await load('/m/a.gguf');
  await load('/m/b.gguf', { keep: 'cache' });
  const found = await inPage(
    page,
    async ({ kept }, url) => {
      const before = await kept.list();
      const room = await kept.room();
      const freed = [await kept.free(url), (await kept.list()).length, await kept.free()];
      return { before, room, freed, after: await kept.list() };
    },
    `${server.url}/m/a.gguf`,
  );
  const seen = found.before.map(({ name, bytes, complete, where }) => [
    name,
    bytes,
    complete,
    where,
  ]);
  assert.deepEqual(seen, [
    ['b.gguf', OTHER.length, true, 'cache'],
    ['a.gguf', N, true, 'opfs'],
  ]);
  assert.deepEqual(found.freed, [N, 1, OTHER.length]);
  assert.deepEqual(found.after, []);
  assert.ok(found.room.quota > 0);
  assert.deepEqual(await keptIn(page), []);
});

test('shards are asked for one after another, and kept each', async () => {
  /** @type {(value?: unknown) => void} */
  let goOn = () => {};
  const until = new Promise((resolve) => (goOn = resolve));
  /** @type {import('./bad-server.mjs').Request[][]} */
  const shards = [];
  let beside = 0;
  for (const name of readdirSync(SHARDED)) {
    const bytes = readFileSync(SHARDED + name);
    const steps = name.includes('00001') ? [{ stallAt: bytes.length - 100, until }] : [];
    const requests = server.file(`/m/shards/${name}`, bytes, ...steps);
    if (name.endsWith('.safetensors')) shards.push(requests);
    else beside += bytes.length;
  }
  assert.ok(shards.length >= 2);
  await beginIn(page, '/m/shards/', beside);
  assert.deepEqual(
    shards.map((requests) => gets(requests).length),
    shards.map((_, i) => (i === 0 ? 1 : 0)),
  );
  goOn();
  assert.equal((await endIn(page)).error, null);
  const again = await load('/m/shards/');
  assert.equal(again.error, null);
  for (const file of again.info?.files ?? []) assert.equal(file.storeBytes, file.bytes, file.file);
  assert.ok(shards.every((requests) => gets(requests).length === 1));
});

for (const build of ['st', 'mt', 'st-relaxed', 'mt-relaxed']) {
  test(
    `build ${build}: memory stays under 1.3 times the weights and the cache`,
    { skip: !hasSmolLM2 },
    async () => {
      const settings = { build: /** @type {any} */ (build), context: 2048, keep: false };
      const { error, info } = await load('/models/smollm2-135m.gguf', settings);
      if (error || !info) throw new Error(String(error));
      const { nLayers, nKvHeads, headDim } = info.model;
      const cache = 2 * nLayers * nKvHeads * headDim * 2 * info.context; // keys and values in f16
      // Memory never shrinks, so that what it has in the end is the most it had.
      const most = 1.3 * info.fileBytes + cache;
      assert.ok(info.memoryBytes <= most, `${info.memoryBytes} bytes, ${most} expected`);
    },
  );
}
