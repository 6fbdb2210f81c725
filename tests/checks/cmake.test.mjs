// CMake alone: cJSON is the system's, or the source that set-up fetched, or asked for by name.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { inRoot } from '../../tools/lib/paths.mjs';
import { attempt, onPath } from '../../tools/lib/run.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'wick-cmake-'));
after(() => rmSync(folder, { recursive: true }));

/** Places where a system's cJSON lies, which are passed over. */
const ignored = ['/usr', '/usr/local', '/opt/homebrew', '/usr/lib/x86_64-linux-gnu']
  .concat('/usr/lib/aarch64-linux-gnu')
  .flatMap((place) => [place, `${place}/include`, `${place}/include/cjson`, `${place}/lib`])
  .join(';');

/** Configures a tree of links to ours, with the .toolchain of ours or none. @param {string} name @param {string[]} more */
async function configure(name, more) {
  const tree = mkdtempSync(path.join(folder, name));
  for (const part of ['CMakeLists.txt', 'src', 'native', 'tests', ...more])
    symlinkSync(inRoot(part), path.join(tree, part));
  const build = path.join(tree, 'build');
  const options = [`-DCMAKE_IGNORE_PATH=${ignored}`, '-DWICK_TESTS=OFF'];
  return { build, ...(await attempt(['cmake', '-S', tree, '-B', build, ...options])) };
}

test('without cJSON both ways to it are named', async (t) => {
  if (!onPath('cmake')) return t.skip('needs cmake');
  const { status, output } = await configure('none', []);
  assert.notEqual(status, 0);
  const words = output.replace(/\s+/g, ' ');
  assert.match(words, /wick needs cJSON: either install it \(apt-get install libcjson-dev/);
  assert.match(words, /or run `node tools\/toolchain\.mjs`/);
});

test('the source that set-up fetched is compiled in', async (t) => {
  if (!onPath('cmake')) return t.skip('needs cmake');
  if (!existsSync(inRoot('.toolchain', 'cjson'))) return t.skip("cJSON's source is not there");
  const { build, status, output } = await configure('fetched', ['.toolchain']);
  assert.equal(status, 0, output);
  const commands = JSON.parse(readFileSync(path.join(build, 'compile_commands.json'), 'utf8'));
  const files = commands.map((/** @type {{ file: string }} */ { file }) => file);
  assert.equal(files.filter((/** @type {string} */ file) => file.endsWith('/cJSON.c')).length, 1);
  assert.match(readFileSync(path.join(build, 'wick.pc'), 'utf8'), /^Requires: *$/m);
});
