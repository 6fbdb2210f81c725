// The JavaScript dependencies (development only): `npm ci` when node_modules is missing or was not
// made from this lock file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { inRoot } from './lib/paths.mjs';
import { isMain, run, runMain, say } from './lib/run.mjs';

export async function ensureDependencies() {
  const lock = createHash('sha256')
    .update(readFileSync(inRoot('package-lock.json')))
    .digest('hex');
  const stamp = inRoot('node_modules', '.wick-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  say('installing JavaScript dependencies');
  // npm ci empties node_modules first, so an interrupted run leaves no stamp.
  await run(['npm', 'ci', '--no-audit', '--no-fund']);
  writeFileSync(stamp, lock);
}

if (isMain(import.meta.url)) await runMain(ensureDependencies);
