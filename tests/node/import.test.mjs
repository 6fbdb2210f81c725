/** Importing the package touches nothing; the shim stays small; the build is chosen with reasons. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { platform } from '../../node/platform.js';
import { chooseBuild, hasRelaxedSimd, hasSimd, hasThreads } from '../../web/lib/probe.js';
import { root, tiny } from './support.mjs';

for (const entry of ['web/lib/index.js', 'node/index.js']) {
  test(`importing ${entry} touches nothing`, () => {
    const program = `
      for (const name of ['document', 'window', 'navigator', 'location', 'self', 'Worker', 'fetch'])
        Object.defineProperty(globalThis, name, {
          get() { throw new Error('touched ' + name); }, configurable: true });
      const { load } = await import(${JSON.stringify(`${root}${entry}`)});
      if (typeof load !== 'function') throw new Error('no load');
      const running = process.getActiveResourcesInfo();
      if (/Worker|Message|Timeout/.test(running)) throw new Error('running: ' + running);`;
    const args = ['--input-type=module', '-e', program];
    const result = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(result.status, 0, result.stderr);
  });
}

test('a program that forgets to free its model still ends', () => {
  const program = `
    const { load } = await import(${JSON.stringify(`${root}node/index.js`)});
    const model = await load(${JSON.stringify(tiny)}, { threads: 2 });
    console.log((await model.chat('Hello!')).text.length > 0);`;
  const args = ['--input-type=module', '-e', program];
  const result = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(result.stdout, 'true\n', result.stderr);
  assert.equal(result.status, 0);
});

test('the shim with its largest build is within its size', () => {
  const lib = `${root}web/lib/`;
  const scripts = readdirSync(lib).filter((name) => name.endsWith('.js'));
  const wasm = readdirSync(`${root}dist/wasm`).filter((name) => name.endsWith('.wasm'));
  const sizes = wasm.map((name) => {
    const files = [...scripts.map((script) => lib + script), `${root}dist/wasm/${name}`];
    const contents = files.map((file) => readFileSync(file));
    return {
      raw: contents.reduce((sum, bytes) => sum + bytes.length, 0),
      compressed: contents.reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0),
    };
  });
  assert.equal(sizes.length, 4);
  assert.ok(Math.max(...sizes.map(({ raw }) => raw)) <= 500_000);
  assert.ok(Math.max(...sizes.map(({ compressed }) => compressed)) <= 180_000);
});

/** @type {import('../../web/lib/messages.js').Platform} */
const desktop = {
  ...platform,
  page: true,
  forced: null,
  cores: () => 8,
  noThreads: () => null,
  noRelaxed: () => null,
};

test('this Node has what the builds need', () => {
  assert.ok(hasSimd());
  assert.ok(hasThreads());
});

test('the choice of a build has its reasons', () => {
  const plain = { ...desktop, noRelaxed: () => 'not trusted here' };
  const relaxed = hasRelaxedSimd() ? '-relaxed' : '';
  assert.equal(chooseBuild(desktop).build, `mt${relaxed}`);
  assert.equal(chooseBuild(desktop).threads, 7);
  assert.equal(chooseBuild({ ...desktop, page: false }).threads, 8);
  assert.equal(chooseBuild({ ...desktop, cores: () => 64 }).threads, 8);
  assert.equal(chooseBuild({ ...desktop, cores: () => 1 }).threads, 1);
  assert.equal(chooseBuild(plain).build, 'mt');
  if (hasRelaxedSimd()) assert.equal(chooseBuild(plain).reason, 'not trusted here');
  const alone = { ...plain, noThreads: () => 'not isolated' };
  const single = chooseBuild(alone, undefined, 4);
  assert.deepEqual([single.build, single.threads, single.threadsReason], ['st', 1, 'not isolated']);
  assert.equal(chooseBuild(plain, undefined, 1).build, 'st');
  assert.equal(chooseBuild(plain, undefined, 3).threads, 3);
  assert.equal(chooseBuild(plain, 'st').threads, 1);
  assert.throws(() => chooseBuild(alone, 'mt'), /not isolated/);
  assert.throws(() => chooseBuild(plain, /** @type {any} */ ('huge')), /build: expected st/);
});
