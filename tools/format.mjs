// `npm run format`: writes every file as the formatters want it. With --check it only says which
// are not.
import { spawnSync } from 'node:child_process';
import { root } from './lib/paths.mjs';
import { attempt, commandLine, isMain, onPath, runMain, say, ToolError } from './lib/run.mjs';

/** Files that git knows or would add, by ending. @param {RegExp} pattern @returns {string[]} */
export function sourceFiles(pattern) {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '-z'];
  const result = spawnSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (result.status !== 0)
    throw new ToolError('the files are listed by git: expected a git checkout');
  return result.stdout.split('\0').filter((name) => pattern.test(name));
}

/** clang-format's command; its version decides what is right. @returns {string | null} */
export function clangFormat() {
  return ['clang-format-19', 'clang-format'].find(onPath) ?? null;
}

export const cPattern = /\.(c|h|inc)$/;

if (isMain(import.meta.url)) {
  await runMain(async () => {
    const { check } = commandLine({ options: { check: { type: 'boolean' } } }).values;
    const command = clangFormat();
    if (!command) throw new ToolError('clang-format 19 not found');
    const cFiles = sourceFiles(cPattern);
    const mode = check ? ['--dry-run', '-Werror'] : ['-i'];
    const results = [
      await attempt([command, ...mode, ...cFiles]),
      await attempt(['npx', '--no-install', 'prettier', check ? '--check' : '--write', '.']),
    ];
    for (const result of results) {
      if (result.status !== 0) process.stdout.write(result.output);
    }
    if (results.some((result) => result.status !== 0)) throw new ToolError('not formatted');
    say('formatted');
  });
}
