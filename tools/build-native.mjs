// The native build: build/wick, the library and the tests, by CMake.
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { inRoot } from './lib/paths.mjs';
import { isMain, onPath, run, runMain, say } from './lib/run.mjs';
import { ensureSystemPackages } from './system-packages.mjs';

/** A clone that was moved or copied takes its builds along, which name the old place. @param {string} cache @param {string} folder */
const belongsHere = (cache, folder) =>
  /^CMAKE_CACHEFILE_DIR:INTERNAL=(.*)$/m.exec(cache)?.[1] === realpathSync(folder);

/**
 * Configures and builds one folder; does next to nothing when it is up to date.
 * @param {string} folder
 * @param {string[]} [options] for CMake
 * @param {string[]} [targets] all of them when left out
 */
export async function cmakeBuild(folder, options = [], targets = []) {
  const cache = path.join(folder, 'CMakeCache.txt');
  if (existsSync(cache) && !belongsHere(readFileSync(cache, 'utf8'), folder))
    rmSync(folder, { recursive: true });
  const fresh = !existsSync(cache);
  const generator = fresh && onPath('ninja') ? ['-G', 'Ninja'] : [];
  await run(['cmake', '-S', inRoot(), '-B', folder, ...generator, ...options]);
  const target = targets.length > 0 ? ['--target', ...targets] : [];
  await run(['cmake', '--build', folder, '-j', String(availableParallelism()), ...target]);
}

export async function buildNative() {
  await ensureSystemPackages(['native']);
  const folder = inRoot('build');
  if (!existsSync(inRoot('build', 'libwick.a'))) say('building for this machine');
  await cmakeBuild(folder, ['-DWICK_TESTS=OFF']);
}

if (isMain(import.meta.url)) await runMain(buildNative);
