// Running test programs that print TAP, and node's test runner.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { inRoot, root } from '../lib/paths.mjs';
import { attempt } from '../lib/run.mjs';

/** @typedef {import('./report.mjs').Report} Report */

/**
 * Adds one program's TAP lines to the report. A plan that is missing or does not fit, or a bad exit
 * status without a failed line, is a failure too.
 * @param {Report} report
 * @param {string} name
 * @param {import('../lib/run.mjs').RunResult} result
 */
export function readTap(report, name, result) {
  let n = 0;
  let nFailed = 0;
  let plan = -1;
  const lines = result.stdout.split('\n');
  for (const [i, line] of lines.entries()) {
    const planned = /^1\.\.(\d+)/.exec(line);
    if (planned) plan = Number(planned[1]);
    const point = /^(not )?ok\b\s*\d*\s*(?:- )?(.*)$/.exec(line);
    if (!point) continue;
    n++;
    const [title, skip] = point[2].split(/\s+# SKIP\s*/i);
    if (skip !== undefined) {
      report.skip(`${name}: ${title}`, skip);
    } else if (point[1]) {
      nFailed++;
      const rest = lines.slice(i + 1);
      const end = rest.findIndex((text) => !text.startsWith('#'));
      report.fail(`${name}: ${title}`, rest.slice(0, end < 0 ? undefined : end).join('\n'));
    } else {
      report.pass();
    }
  }
  if (plan !== n) {
    report.fail(`${name}: expected a plan of ${n} tests, found ${plan}`, result.output);
  } else if (result.status !== 0 && nFailed === 0) {
    report.fail(`${name}: ended with status ${result.status}`, result.output);
  }
}

/**
 * Runs every test program of a build folder.
 * @param {Report} report
 * @param {string} folder
 * @param {{ names: string[], prefix?: string[], env?: NodeJS.ProcessEnv }} options prefix: a command
 *   that runs the programs
 */
export async function runPrograms(report, folder, { names, prefix = [], env }) {
  for (const name of names) {
    const command = [...prefix, path.join(folder, name)];
    readTap(report, name, await attempt(command, { env, timeoutSeconds: 600 }));
  }
}

/** Names of the C test programs. @param {string[]} folders under tests/ @param {RegExp} [pattern] */
export function testPrograms(folders, pattern = /^test_.*\.c$/) {
  return folders
    .map((folder) => inRoot('tests', folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).filter((name) => pattern.test(name)))
    .map((name) => name.replace(/\.c$/, ''))
    .sort();
}

/**
 * Runs the *.test.mjs files of a folder by node's runner.
 * @param {Report} report
 * @param {string} folder relative to the root
 */
export async function runNodeTests(report, folder) {
  const full = inRoot(folder);
  const files = existsSync(full)
    ? readdirSync(full).filter((name) => /\.test\.m?js$/.test(name))
    : [];
  if (files.length === 0) return;
  const reporter = `--test-reporter=${path.join(root, 'tools', 'test', 'node-reporter.mjs')}`;
  const paths = files.sort().map((name) => path.join(folder, name));
  const command = [process.execPath, '--test', reporter, ...paths];
  // A runner inside node's runner would report in another way.
  const env = { NODE_TEST_CONTEXT: undefined };
  const result = await attempt(command, { env, timeoutSeconds: 1800 });
  let n = 0;
  for (const line of result.stdout.split('\n').filter((text) => text.startsWith('{'))) {
    const event = JSON.parse(line);
    n++;
    if (event.skip !== undefined) report.skip(event.name, event.skip);
    else report.check(event.passed, event.name, event.error);
  }
  if (n === 0 || (result.status !== 0 && report.failed === 0)) {
    report.fail(`${folder}: the runner ended with status ${result.status}`, result.output);
  }
}
