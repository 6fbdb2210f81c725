// The test command itself: what hangs is ended, what never ran has failed, what a machine lacks is
// installed or named.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { cmakeBuild } from '../../tools/build-native.mjs';
import { inRoot } from '../../tools/lib/paths.mjs';
import { attempt, run, withLimit } from '../../tools/lib/run.mjs';
import { isDebianRoot } from '../../tools/system-packages.mjs';
import { runNodeTests } from '../../tools/test/programs.mjs';
import { Report } from '../../tools/test/report.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'wick-runner-'));
after(() => rmSync(folder, { recursive: true }));

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    // One that ended but is not waited for yet is no longer running.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

test('a program that is ended takes along what it started', async () => {
  // The inner program holds the output open, which would keep us waiting for it.
  const script = 'sleep 300 & echo $!; wait';
  const result = await attempt(['sh', '-c', script], { timeoutSeconds: 1 });
  assert.notEqual(result.status, 0);
  assert.match(result.output, /sh was ended after 1 s/);
  const pid = Number(result.stdout);
  assert.ok(pid > 0);
  assert.equal(isAlive(pid), false);
});

test('when the time of a layer is over, its program is ended and the next not started', async () => {
  const results = await withLimit(1, async () => [
    await attempt(['sleep', '300'], { timeoutSeconds: 200 }),
    await attempt(['echo', 'late']),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status === 0),
    [false, false],
  );
  assert.equal(results[1].stdout, '');
});

const tools = ['start', 'test', 'format', 'model', 'shots', 'system-packages'];
for (const name of [...tools.map((tool) => `tools/${tool}`), 'tests/peers/bench']) {
  test(`${name} refuses an option that it does not know, before it does anything`, async () => {
    const command = ['node', inRoot(`${name}.mjs`), '--frobnicate'];
    const { status, output } = await attempt(command, { timeoutSeconds: 30 });
    assert.deepEqual([status, output], [1, "wick: Unknown option '--frobnicate'\n"]);
  });
}

/** @param {Record<string, string>} files names without ending, and their texts @param {number} seconds */
async function reportOf(files, seconds) {
  const tests = mkdtempSync(path.join(folder, 'tests-'));
  for (const [name, text] of Object.entries(files))
    writeFileSync(
      path.join(tests, `${name}.test.mjs`),
      `import { before, test } from 'node:test';\n${text}`,
    );
  const report = new Report('layer');
  await withLimit(seconds, () => runNodeTests(report, tests));
  return report;
}

test('a test file that hangs or cannot be loaded has failed, and what ran counts', async () => {
  const report = await reportOf(
    {
      good: "test('good', () => {});",
      broken: "throw new Error('not even loaded');",
      hanging: "test('good', () => {});\nsetInterval(() => {}, 1000);",
    },
    10,
  );
  assert.equal(`${report}`, '2 passed, 2 failed, 0 skipped');
  const names = report.failures.map((name) => /(broken|hanging)\.test/.exec(name)?.[1]).sort();
  assert.deepEqual(names, ['broken', 'hanging']);
});

test('a test file that never ran has failed', async () => {
  const report = await reportOf({ a: "test('good', () => {});" }, 0);
  assert.equal(`${report}`, '0 passed, 1 failed, 0 skipped');
});

test('a browser that cannot start fails its tests, and nothing stays open', async () => {
  const support = JSON.stringify(inRoot('tests', 'web', 'support.mjs'));
  const text = `
    const { launch, serveSite, serveNotIsolated } = await import(${support});
    before(() => Promise.all([serveSite(), serveNotIsolated('http://127.0.0.1:1'), launch()]));
    test('first', () => {});
    test('second', () => {});`;
  process.env.CHROMIUM = path.join(folder, 'no-browser');
  try {
    const report = await reportOf({ web: text }, 60);
    assert.equal(`${report}`, '0 passed, 2 failed, 0 skipped');
  } finally {
    delete process.env.CHROMIUM;
  }
});

/** @param {string} program @param {NodeJS.ProcessEnv} env */
const inNode = (program, env) =>
  attempt([process.execPath, '--input-type=module', '-e', program], { env });

test('a missing sanitizer runtime is skipped by name, and fails in CI', async () => {
  const bin = path.join(folder, 'no-runtime');
  mkdirSync(bin);
  writeFileSync(path.join(bin, 'clang-19'), '#!/bin/sh\nexit 1\n');
  chmodSync(path.join(bin, 'clang-19'), 0o755);
  const program = `
    const { Report } = await import('./tools/test/report.mjs');
    const native = await import('./tools/test/native.mjs');
    const report = new Report('');
    await native.addressSanitizer(report);
    await native.threadSanitizer(report);
    console.log(String(report));`;
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const free = await inNode(program, { ...env, CI: '' });
  assert.match(free.stdout, /skipped thread sanitizer: .* not found: install .*libclang-rt-19-dev/);
  assert.match(free.stdout, /^0 passed, 0 failed, 2 skipped$/m);
  const inCi = await inNode(program, { ...env, CI: 'true' });
  assert.match(inCi.stdout, /^0 passed, 2 failed, 0 skipped$/m);
});

test('npm test installs what the tests need, as root on Debian', async (t) => {
  if (!isDebianRoot()) return t.skip('not root on Debian');
  const bin = path.join(folder, 'nothing-installed');
  mkdirSync(bin);
  const asked = path.join(folder, 'asked');
  const stubs = { 'dpkg-query': 'exit 1', 'apt-get': `echo "$*" >> ${asked}` };
  for (const [name, text] of Object.entries(stubs)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  const models = path.join(folder, 'models');
  mkdirSync(models);
  writeFileSync(path.join(models, 'smollm2-135m.gguf'), ''); // is there: nothing is fetched
  const program = "await (await import('./tools/test/set-up.mjs')).setUp();";
  await inNode(program, { PATH: `${bin}:${process.env.PATH}`, WICK_MODELS: models });
  const installed = readFileSync(asked, 'utf8').split(/\s+/);
  const needed = ['chromium', 'clang-19', 'clang-format-19', 'libclang-rt-19-dev', 'qemu-user'];
  for (const name of [...needed, 'cmake', 'gcc', 'git'])
    assert.ok(installed.includes(name), `${name} is not installed`);
});

test('a build that came along from another place is made anew', async () => {
  const moved = path.join(folder, 'build');
  await run(['cmake', '-S', inRoot(), '-B', moved, '-DWICK_TESTS=OFF']);
  const cache = path.join(moved, 'CMakeCache.txt');
  const text = readFileSync(cache, 'utf8');
  writeFileSync(cache, text.replaceAll(moved, '/elsewhere/build'));
  await cmakeBuild(moved, ['-DWICK_TESTS=OFF'], ['edit_cache']).catch(() => {});
  assert.ok(readFileSync(cache, 'utf8').includes(moved));
});
