/** What Node keeps of a model on disk: across loads, broken connections, aborts and processes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { kept, load } from '../../node/index.js';
import { BadServer, gets } from '../web/bad-server.mjs';
import { root, tiny } from './support.mjs';

const TINY = readFileSync(tiny);
const N = TINY.length;
const QUICK = { network: { backOffMilliseconds: 20 } };

/** @type {BadServer} */
let server;
let folder = '';
before(async () => {
  server = await new BadServer('').start();
});
after(() => server.close());
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'wick-disk-'));
  process.env.WICK_MODELS = folder;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The names of what is kept. */
const names = () => readdirSync(path.join(folder, 'fetched')).sort();
/** @param {string} name */
const kepts = (name) => path.join(folder, 'fetched', name);

/** @param {string} url @param {import('../../web/lib/load.js').LoadOptions} [options] */
async function loaded(url, options) {
  const model = await load(server.url + url, { ...QUICK, ...options });
  await model.free();
  return model.info.files[0];
}

/** @param {import('../web/bad-server.mjs').Request} request */
const start = ({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]);

test('a file is kept under $WICK_MODELS and read from there', async () => {
  const requests = server.file('/twice.gguf', TINY);
  assert.equal((await loaded('/twice.gguf')).kept, 'disk');
  const [file, journal] = names();
  assert.match(file, /^twice-[\da-f]{32}\.gguf$/);
  assert.equal(journal, `${file}.json`);
  assert.ok(readFileSync(kepts(file)).equals(TINY));
  assert.equal((await loaded('/twice.gguf')).storeBytes, N);
  assert.equal(gets(requests).length, 1);
  const [{ url, bytes, complete }] = await kept.list();
  assert.deepEqual([url, bytes, complete], [`${server.url}/twice.gguf`, N, true]);
  assert.equal((await kept.room()).usage, N);
  assert.equal(await kept.free(url), N);
  assert.deepEqual(names(), []);
});

test('without its server a kept file still loads', async () => {
  const gone = await new BadServer('').start();
  gone.file('/gone.gguf', TINY);
  const url = `${gone.url}/gone.gguf`;
  await (await load(url)).free();
  gone.close();
  const model = await load(url);
  await model.free();
  assert.equal(model.info.files[0].storeBytes, N);
});

test('what came before the network failed is gone on from, and the file gets its name', async () => {
  const requests = server.file('/part.gguf', TINY, { cutAt: N / 2 }, { status: 500 });
  const line = /^Error: wick: http\S+part\.gguf: expected status 200, found 500$/;
  await assert.rejects(loaded('/part.gguf', { network: { tries: 2 } }), line);
  const [part] = names();
  assert.match(part, /\.gguf\.part$/);
  const { size } = statSync(kepts(part));
  assert.ok(size > 0 && size <= N / 2);
  assert.ok(TINY.subarray(0, size).equals(readFileSync(kepts(part))));
  const more = server.file('/part.gguf', TINY);
  assert.equal((await loaded('/part.gguf')).storeBytes, size);
  assert.equal(start(gets(more)[0]), size);
  assert.ok(gets(requests).length <= 3);
  assert.ok(names().every((name) => !name.includes('.part')));
  assert.ok(readFileSync(kepts(names()[0])).equals(TINY));
});

test('after an abort the next load goes on', async () => {
  const requests = server.file('/abort.gguf', TINY, { stallAt: N / 2 }, {});
  const controller = new AbortController();
  const { signal } = controller;
  await assert.rejects(
    load(`${server.url}/abort.gguf`, {
      signal,
      onProgress: ({ loaded }) => loaded > 0 && controller.abort(),
    }),
    { name: 'AbortError' },
  );
  await loaded('/abort.gguf');
  assert.ok(start(gets(requests)[1]) > 0);
  assert.ok(readFileSync(kepts(names()[0])).equals(TINY));
});

test('two loads in this process and one in another: one download', async () => {
  /** @type {(value?: unknown) => void} */
  let goOn = () => {};
  const until = new Promise((resolve) => (goOn = resolve));
  const requests = server.file('/shared.gguf', TINY, { stallAt: N / 2, until });
  const url = `${server.url}/shared.gguf`;
  /** @param {string} phase */
  const begin = (phase) =>
    new Promise((resolve) => {
      const ended = load(url, {
        onProgress: (progress) => {
          if (progress.phase === phase && (phase === 'waiting' || progress.loaded > 0))
            resolve({ ended });
        },
      });
    });
  const first = /** @type {{ ended: ReturnType<typeof load> }} */ (await begin('weights'));
  const second = /** @type {{ ended: ReturnType<typeof load> }} */ (await begin('waiting'));
  const program = `
    import { load } from './node/index.js';
    const onProgress = ({ phase }) => phase === 'waiting' && console.log(phase);
    const model = await load(${JSON.stringify(url)}, { onProgress });
    console.log(model.info.files[0].storeBytes);
    await model.free();`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: root });
  let output = '';
  await new Promise((resolve) => {
    other.stdout.on('data', (data) => {
      output += data;
      resolve(null);
    });
    other.on('close', resolve);
  });
  assert.equal(output, 'waiting\n');
  goOn();
  const models = await Promise.all([first.ended, second.ended]);
  if (other.exitCode === null) await new Promise((resolve) => other.on('close', resolve));
  assert.equal(output, `waiting\n${N}\n`);
  for (const model of models) await model.free();
  assert.deepEqual(
    gets(requests).map(({ sent }) => sent),
    [N],
  );
});

test('where nothing can be kept the model loads all the same', async () => {
  const file = path.join(folder, 'file');
  writeFileSync(file, '');
  process.env.WICK_MODELS = file;
  server.file('/nowhere.gguf', TINY);
  const { kept, note } = await loaded('/nowhere.gguf');
  assert.equal(kept, null);
  assert.match(note, /^not kept: /);
});
