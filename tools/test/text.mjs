// Layers that read the tree: formatters, linters, types.
import { existsSync } from 'node:fs';
import { inRoot } from '../lib/paths.mjs';
import { attempt, onPath } from '../lib/run.mjs';
import { clangFormat, cPattern, sourceFiles } from '../format.mjs';

/** @typedef {import('./report.mjs').Report} Report */

/**
 * @param {Report} report @param {string} name @param {string[]} command
 */
async function one(report, name, command) {
  const result = await attempt(command);
  report.check(result.status === 0, name, result.output);
}

/** @param {string} name @param {string[]} rest a program of our own dependencies */
const local = (name, ...rest) => [inRoot('node_modules', '.bin', name), ...rest];

/** @param {Report} report */
export async function format(report) {
  const command = clangFormat();
  const lacks = /** @type {const} */ ([
    'clang-format',
    'clang-format 19 (Debian: clang-format-19)',
  ]);
  if (!command) report.lacking('C files are formatted', ...lacks);
  else
    await one(report, 'C files are formatted', [
      command,
      '--dry-run',
      '-Werror',
      ...sourceFiles(cPattern),
    ]);
  await one(
    report,
    'other files are formatted',
    local('prettier', '--check', '--log-level=warn', '.'),
  );
}

/** @param {Report} report */
export async function lint(report) {
  await one(report, 'eslint', local('eslint', '--max-warnings=0', '.'));
  const pages = sourceFiles(/\.html$/).filter((name) => existsSync(inRoot(name)));
  if (pages.length > 0) await one(report, 'html-validate', local('html-validate', ...pages));
  const scripts = sourceFiles(/(^\.ci\/run|\.sh)$/);
  for (const script of scripts) await one(report, `bash -n ${script}`, ['bash', '-n', script]);
  if (onPath('shellcheck') && scripts.length > 0) {
    await one(report, 'shellcheck', ['shellcheck', ...scripts]);
  }
}

/** @param {Report} report */
export async function types(report) {
  await one(report, 'JSDoc types', local('tsc', '--noEmit', '-p', inRoot('tsconfig.json')));
}
