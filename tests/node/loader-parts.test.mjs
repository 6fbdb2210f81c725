/** The loader's parts by themselves: hashes, names, manifests, versions. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sameVersion } from '../../web/lib/fetch-stream.js';
import { checkStart } from '../../web/lib/magic.js';
import { partsOfManifest } from '../../web/lib/manifest.js';
import { partsOf } from '../../web/lib/sources.js';
import { parseJournal } from '../../web/lib/store.js';
import { createMemory, instantiate, Wasm } from '../../web/lib/wasm.js';
import { root } from './support.mjs';

test('SHA-256 of pieces is that of the whole, for every length up to four blocks', async () => {
  const module = await WebAssembly.compile(readFileSync(`${root}dist/wasm/wick-st.wasm`));
  const memory = createMemory(false);
  const wasm = new Wasm(await instantiate(module, memory), memory);
  const hash = wasm.allocate(wasm.sizeOf('wick_sha256'));
  const data = wasm.allocate(1 << 16);
  const out = wasm.allocate(32);
  const bytes = Uint8Array.from({ length: 1 << 16 }, (_, i) => (i * 2654435761) >>> 13);
  wasm.bytes.set(bytes, data);
  /** @param {number} n @param {number} step */
  const check = (n, step) => {
    wasm.exports.wick_sha256_begin(hash);
    for (let at = 0; at < n; at += step)
      wasm.exports.wick_sha256_update(hash, data + at, Math.min(step, n - at));
    wasm.exports.wick_sha256_end(hash, out);
    const expected = createHash('sha256').update(bytes.subarray(0, n)).digest('hex');
    assert.equal(Buffer.from(wasm.copyBytes(out, 32)).toString('hex'), expected, `${n} by ${step}`);
  };
  for (let n = 0; n <= 256; n++) for (const step of [1, 7, 64, 65, 300]) check(n, step);
  for (const step of [1000, 4096, 65536]) check(65536, step);
});

for (const shared of [false, true]) {
  test(`memory grows to 4 GB, or as far as a device has room: shared ${shared}`, (t) => {
    const { Memory } = WebAssembly;
    t.after(() => (WebAssembly.Memory = Memory));
    const pages = (/** @type {WebAssembly.Memory} */ memory) => memory.buffer.byteLength / 65536;
    const whole = createMemory(shared);
    assert.equal(pages(whole), 32);
    assert.equal(whole.grow(65536 - 32), 32);
    WebAssembly.Memory = class extends Memory {
      /** @param {WebAssembly.MemoryDescriptor} descriptor */
      constructor(descriptor) {
        if (Number(descriptor.maximum) > 20_000) throw new RangeError('could not allocate memory');
        super(descriptor);
      }
    };
    const less = createMemory(shared);
    assert.equal(less.grow(16384 - 32), 32);
    assert.throws(() => less.grow(1), RangeError);
    WebAssembly.Memory = class extends Memory {
      constructor() {
        super({ initial: 1, maximum: 1 });
        throw new RangeError('could not allocate memory');
      }
    };
    assert.throws(() => createMemory(shared), /could not allocate/);
  });
}

test('a name of the Hugging Face hub is an address there', async () => {
  const [part] = await partsOf('hf:owner/some.repo/sub dir/model.Q4_1.gguf', '');
  const at = 'https://huggingface.co/owner/some.repo/resolve';
  assert.deepEqual(part, { name: 'model.Q4_1.gguf', url: `${at}/main/sub%20dir/model.Q4_1.gguf` });
  const [revised] = await partsOf('hf:owner/repo@v1/m.gguf', '');
  assert.equal(revised.url, 'https://huggingface.co/owner/repo/resolve/v1/m.gguf');
  const folder = await partsOf('hf:owner/repo', '');
  assert.equal(folder[0].url, 'https://huggingface.co/owner/repo/resolve/main/config.json');
  assert.equal(folder.at(-1)?.list, 'index');
  for (const wrong of ['hf:owner', 'hf:', 'hf:a/b c/d'])
    await assert.rejects(partsOf(wrong, ''), /expected hf:owner\/repository/);
});

const MANIFEST = 'https://example.org/models/wick.json';
const SHA = 'ab'.repeat(32);

test('a manifest names files, sizes and hashes', () => {
  const files = [
    { name: 'a.gguf', bytes: 5, sha256: SHA.toUpperCase() },
    { name: 'b c.json', url: 'https://mirror.example/x', optional: true },
  ];
  const parts = partsOfManifest(JSON.stringify({ wick: 1, licence: 'MIT', files }), MANIFEST);
  const [a, b] = parts;
  assert.equal(a.url, 'https://example.org/models/a.gguf');
  assert.deepEqual([a.bytes, a.sha256, a.optional], [5, SHA, false]);
  assert.deepEqual([b.url, b.bytes, b.optional], ['https://mirror.example/x', undefined, true]);
});

test('a manifest that is wrong is refused in one line that says where', () => {
  const file = { name: 'a.gguf' };
  for (const [manifest, line] of /** @type {[unknown, RegExp][]} */ ([
    ['{', /wick\.json: expected a manifest in JSON/],
    [{}, /wick\.json: expected a manifest with "wick": 1, found none$/],
    [{ wick: 2, files: [file] }, /expected a manifest with "wick": 1, found 2$/],
    [{ wick: 1 }, /expected a list of files, found none$/],
    [{ wick: 1, files: [] }, /expected a list of files, found \[\]$/],
    [{ wick: 1, files: [null] }, /files\[0\]\.name: expected the base name .*, found none$/],
    [{ wick: 1, files: [{ name: '../a.gguf' }] }, /files\[0\]\.name: .*, found "\.\.\/a\.gguf"$/],
    [{ wick: 1, files: [{ ...file, bytes: -1 }] }, /files\[0\]\.bytes: expected .*, found -1$/],
    [{ wick: 1, files: [{ ...file, sha256: 'x' }] }, /sha256: expected 64 hex.*, found "x"$/],
    [{ wick: 1, files: [{ ...file, url: 5 }] }, /url: expected an address, found 5$/],
    [{ wick: 1, files: [file, file] }, /expected every name once, found one twice$/],
  ])) {
    const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
    assert.throws(() => partsOfManifest(text, MANIFEST), line);
  }
});

test('versions are the same, differ, or cannot be told apart', () => {
  const none = { etag: null, modified: null, total: null, encoded: false };
  const monday = 'Mon, 01 Jan 2024 00:00:00 GMT';
  assert.equal(sameVersion(none, none), null);
  assert.equal(sameVersion({ ...none, etag: '"a"' }, { ...none, etag: 'W/"a"' }), true);
  assert.equal(sameVersion({ ...none, etag: '"a"' }, { ...none, etag: '"b"' }), false);
  assert.equal(sameVersion({ ...none, etag: '"a"', total: 1 }, { ...none, etag: '"a"' }), true);
  assert.equal(sameVersion({ ...none, total: 1 }, { ...none, total: 2 }), false);
  assert.equal(sameVersion({ ...none, total: 1 }, { ...none, total: 1 }), null);
  assert.equal(sameVersion({ ...none, modified: monday }, { ...none, modified: monday }), true);
});

test('a journal that is torn or from elsewhere counts for nothing', () => {
  for (const text of ['', '{"url":', 'null', '[]', '{"url":"x","version":null}'])
    assert.equal(parseJournal(text), null);
  const version = { etag: 7, modified: 'm', total: 1.5, encoded: 1 };
  const journal = parseJournal(JSON.stringify({ url: 'u', name: 'n', version, complete: 'yes' }));
  assert.deepEqual(journal?.version, { etag: null, modified: 'm', total: null, encoded: false });
  assert.equal(journal?.complete, false);
});

test('a file whose first bytes are those of something else is refused, however few there are', () => {
  const html = '<!doctype html>';
  for (const [name, good] of [
    ['a.gguf', 'GGUF\x03\0\0\0\0'],
    ['B.GGUF', 'GGUF\x03'],
    ['a.safetensors', '\x10\0\0\0\0\0\0\0{"a":'],
    ['config.json', ' \n {"a":1}'],
    ['list.json', '[1]'],
    ['marked.json', '\xef\xbb\xbf{}'],
  ]) {
    for (let n = 1; n <= good.length; n++)
      checkStart(name, Buffer.from(good.slice(0, n), 'latin1'));
    const line = /^Error: expected a \w+ file, found "<!doctype" \.\.\.$/;
    assert.throws(() => checkStart(name, Buffer.from(html)), line);
  }
  checkStart('chat_template.jinja', Buffer.from(html));
});
