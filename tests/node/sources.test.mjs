/** What goes wrong on the way to a model, and one clear line about it each time. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { load } from '../../node/index.js';
import { partsOf } from '../../web/lib/sources.js';
import { golden } from './support.mjs';

const FOLDER = `${golden}generality/qwen2_sharded_bf16/`;
const FILE = `${golden}generality/llama3_f16_gguf.gguf`;
const SPLIT = `${golden}split/`;
const PARTS = [1, 2, 3, 4].map((n) => `qwen2_untied_q4_1-0000${n}-of-00004.gguf`);
const bytes = readFileSync(FILE);

/** @type {Record<string, (response: import('node:http').ServerResponse) => void>} */
const PAGES = {
  '/good.gguf': (response) => response.end(bytes),
  '/html.gguf': (response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' });
    response.end('<!doctype html><title>Sign in</title>');
  },
  '/bad.gguf': (response) => response.end('this is no model, whatever its name says'),
  '/short.gguf': (response) => {
    response.writeHead(200, { 'Content-Length': bytes.length });
    response.write(bytes.subarray(0, 5000));
    setTimeout(() => response.destroy(), 50);
  },
  '/cut.gguf': (response) => response.end(bytes.subarray(0, 5000)),
  '/chunked.gguf': (response) => {
    response.write(bytes.subarray(0, 777));
    response.end(bytes.subarray(777));
  },
  '/zipped.gguf': (response) => {
    response.writeHead(200, { 'Content-Encoding': 'gzip' });
    response.end(gzipSync(bytes));
  },
};

/** @type {import('node:http').Server} */
let server;
let base = '';
// What is fetched is kept, but not among the models of this machine.
const folder = mkdtempSync(path.join(tmpdir(), 'wick-sources-'));
process.env.WICK_MODELS = folder;
before(async () => {
  server = createServer((request, response) => {
    const { url = '' } = request;
    const page = PAGES[url];
    try {
      if (page) page(response);
      else if (url.startsWith('/split/') && url.endsWith('?token=x'))
        response.end(readFileSync(SPLIT + url.slice('/split/'.length, -'?token=x'.length)));
      else response.end(readFileSync(FOLDER + url.replace('/folder/', '')));
    } catch {
      response.writeHead(404).end('none');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  base = `http://127.0.0.1:${port}`;
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

for (const name of ['/good.gguf', '/chunked.gguf', '/zipped.gguf', '/folder/']) {
  test(`loads ${name}`, async () => {
    /** @type {import('../../web/lib/messages.js').Progress[]} */
    const seen = [];
    const model = await load(base + name, { onProgress: (progress) => seen.push(progress) });
    await model.free();
    assert.ok(seen.every(({ loaded, total }) => total === 0 || loaded <= total));
    assert.equal(seen.at(-1)?.loaded, seen.at(-1)?.total);
  });
}

const FAILURES = {
  '/html.gguf': /html\.gguf: expected a model file, found a web page/,
  '/missing.gguf': /missing\.gguf: expected status 200, found 404/,
  '/bad.gguf': /bad\.gguf: .*expected/,
  '/cut.gguf': /cut\.gguf: .*expected/,
  '/short.gguf': /short\.gguf: /,
};
for (const [name, pattern] of Object.entries(FAILURES)) {
  test(`${name} fails with one line that names it`, async () => {
    await assert.rejects(load(base + name), (error) => {
      assert.match(error.message, pattern);
      assert.ok(error.message.startsWith(`wick: ${base}`), error.message);
      assert.ok(!error.message.includes('\n'));
      return true;
    });
  });
}

test('a server that is not there is named', async () => {
  await assert.rejects(load('http://127.0.0.1:9/x.gguf'), /127\.0\.0\.1:9\/x\.gguf: expected/);
});

test('a path that is not there is named', async () => {
  await assert.rejects(load('nowhere/x.gguf'), /^Error: wick: nowhere\/x\.gguf: expected/);
});

test('the files of a folder go in the order that the engine reads', async () => {
  const names = ['model-2.safetensors', 'tokenizer.json', 'README.md', 'model-1.safetensors'];
  const files = [...names, 'config.json'].map((name) => new File(['x'], name));
  const parts = await partsOf(files, '');
  assert.deepEqual(
    parts.map(({ name }) => name),
    ['config.json', 'tokenizer.json', 'model-1.safetensors', 'model-2.safetensors'],
  );
  await assert.rejects(partsOf(files.slice(0, 3), ''), /the files: expected a file config.json/);
});

test('a split model is all its parts: from a path, an address and files, by any of them', async () => {
  const ids = Array.from({ length: 30 }, (_, i) => 3 + 7 * i);
  /** @param {Parameters<typeof load>[0]} source */
  const logitsOf = async (source) => {
    const model = await load(source);
    const { logits } = await model.evaluate(ids);
    await model.free();
    return logits;
  };
  const expected = await logitsOf(`${golden}generality/qwen2_untied_q4_1.gguf`);
  const files = PARTS.map((name) => new File([readFileSync(SPLIT + name)], name));
  const [last, first, ...middle] = [files[3], files[0], files[1], files[2]];
  const sources = [SPLIT + PARTS[0], SPLIT + PARTS[2], `${base}/split/${PARTS[1]}?token=x`];
  for (const source of [...sources, [last, ...middle, first]])
    assert.deepEqual(await logitsOf(source), expected);
  await assert.rejects(
    load(files.slice(0, 3)),
    /^Error: wick: .*00003-of-00004\.gguf: expected a model of 4 parts, found 3$/,
  );
  await assert.rejects(load([files[1]]), /expected part 1 of 4, found part 2 of 4$/);
});
