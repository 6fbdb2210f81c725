// Running test programs that print TAP, and node's test runner.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
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

/** @typedef {{ name: string, passed: boolean, skip?: string, error?: string }} TestEvent */

/**
 * Runs one test file by itself; one that ends without having tested anything has failed.
 * @param {Report} report
 * @param {string} file
 */
async function runNodeTest(report, file) {
  const reporter = `--test-reporter=${path.join(root, 'tools', 'test', 'node-reporter.mjs')}`;
  // A runner inside node's runner would report in another way.
  const env = { NODE_TEST_CONTEXT: undefined };
  const command = [process.execPath, '--test', reporter, file];
  const result = await attempt(command, { env, timeoutSeconds: 600 });
  let nTested = 0;
  let nFailed = 0;
  for (const line of result.stdout.split('\n').filter((text) => text.startsWith('{'))) {
    const event = /** @type {TestEvent} */ (JSON.parse(line));
    nTested++;
    if (event.skip !== undefined) report.skip(event.name, event.skip);
    else report.check(event.passed, event.name, event.error);
    if (event.skip === undefined && !event.passed) nFailed++;
  }
  const name = path.basename(file);
  if (nTested === 0) report.fail(`${name}: no test ran`, result.output);
  else if (result.status !== 0 && nFailed === 0) {
    report.fail(`${name}: ended with status ${result.status}`, result.output);
  }
}

/**
 * Runs the *.test.mjs files of a folder, as many at once as leave a core to the programs they start.
 * @param {Report} report
 * @param {string} folder relative to the root
 */
export async function runNodeTests(report, folder) {
  const full = path.resolve(root, folder);
  const files = existsSync(full)
    ? readdirSync(full).filter((name) => /\.test\.m?js$/.test(name))
    : [];
  const waiting = files.sort().map((name) => path.join(full, name));
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift())
      await runNodeTest(report, file);
  };
  const n = Math.max(1, availableParallelism() - 1);
  await Promise.all(Array.from({ length: n }, worker));
}
