// Running other programs: quietly, with the end of their output shown when they fail.
import { AsyncLocalStorage } from 'node:async_hooks';
import { spawn, spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { root } from './paths.mjs';

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] added to this process's own
 * @property {string} [input] given on standard input
 * @property {(text: string) => void} [onOutput] sees output as it comes
 * @property {boolean} [show] let the program write to our own output
 * @property {number} [timeoutSeconds]
 */

/** @typedef {{ status: number, output: string, stdout: string }} RunResult */

/** When the work under way must have ended, in milliseconds. @type {AsyncLocalStorage<number>} */
const deadline = new AsyncLocalStorage();

/**
 * Runs work whose programs, all together, get so many seconds: what still runs then is ended, and
 * what is started later fails at once.
 * @template T
 * @param {number} seconds
 * @param {() => Promise<T>} work
 */
export const withLimit = (seconds, work) => deadline.run(Date.now() + seconds * 1000, work);

/** Seconds that a step may take: its own limit, or what is left where that is less. @param {number} own */
export const secondsLeft = (own) =>
  Math.min(own, ((deadline.getStore() ?? Infinity) - Date.now()) / 1000);

/** Process groups with a time limit, which a signal to us does not reach. @type {Set<number>} */
const groups = new Set();

/** @param {number} group @param {NodeJS.Signals} signal */
function signalGroup(group, signal) {
  try {
    process.kill(-group, signal);
  } catch {
    // It has ended.
  }
}

/** @param {NodeJS.Signals} signal */
function passOn(signal) {
  for (const group of groups) signalGroup(group, signal);
  process.exit(signal === 'SIGINT' ? 130 : 143);
}

/** @param {number} group @param {boolean} runs */
function keepGroup(group, runs) {
  const none = groups.size === 0;
  if (runs) groups.add(group);
  else groups.delete(group);
  if (none === (groups.size === 0)) return;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    if (none) process.on(signal, passOn);
    else process.off(signal, passOn);
  }
}

/**
 * Runs a program to its end; never throws for a failing one. One with a time limit that is over is
 * ended with all that it started.
 * @param {string[]} command
 * @param {RunOptions} [options]
 * @returns {Promise<RunResult>}
 */
export function attempt(command, options = {}) {
  const seconds = secondsLeft(options.timeoutSeconds ?? Infinity);
  const limited = seconds !== Infinity;
  if (seconds <= 0) {
    return Promise.resolve({ status: 1, output: 'not run: no time was left for it\n', stdout: '' });
  }
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), {
      cwd: options.cwd ?? root,
      env: { ...process.env, ...options.env },
      stdio: options.show ? 'inherit' : ['pipe', 'pipe', 'pipe'],
      detached: limited, // a group of its own, so that all of it can be ended
    });
    const group = limited ? (child.pid ?? 0) : 0;
    if (group) keepGroup(group, true);
    let output = '';
    let stdout = '';
    const timer = limited
      ? setTimeout(() => {
          output += `\n${command[0]} was ended after ${seconds.toFixed(0)} s\n`;
          if (group) signalGroup(group, 'SIGKILL');
        }, seconds * 1000)
      : undefined;
    const end = (/** @type {RunResult} */ result) => {
      clearTimeout(timer);
      if (group) keepGroup(group, false);
      resolve(result);
    };
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text;
      stdout += text;
      options.onOutput?.(text);
    });
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      output += text;
      options.onOutput?.(text);
    });
    // A program that does not read its input must not break us.
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
    child.on('error', (error) => end({ status: 127, output: `${error.message}\n`, stdout }));
    child.on('close', (code, signal) => {
      if (signal) output += `\n${command[0]} was ended by ${signal}\n`;
      end({ status: code ?? 1, output, stdout });
    });
  });
}

/** What went wrong, in one line that a person can act on. */
export class ToolError extends Error {}

/**
 * Runs a program and throws a ToolError with the end of its output when it fails.
 * @param {string[]} command
 * @param {RunOptions} [options]
 * @returns {Promise<string>} its standard output
 */
export async function run(command, options = {}) {
  const result = await attempt(command, options);
  if (result.status !== 0) {
    const tail = result.output.trimEnd().split('\n').slice(-40).join('\n');
    throw new ToolError(`${command.join(' ')}\n${tail}\nfailed with status ${result.status}`);
  }
  return result.stdout;
}

/**
 * The first line that a program prints, or '' when it cannot run.
 * @param {string[]} command
 * @param {NodeJS.ProcessEnv} [env]
 */
export function firstLine(command, env = {}) {
  const result = spawnSync(command[0], command.slice(1), {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return result.status === 0 ? result.stdout.split('\n')[0].trim() : '';
}

/** Whether a program is on PATH. @param {string} name */
export function onPath(name) {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', name], { stdio: 'ignore' }).status === 0;
}

/** One line of progress. @param {string} text */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/**
 * Runs a tool's main function; a ToolError becomes one message and status 1.
 * @param {() => Promise<void>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(
      `wick: ${error instanceof ToolError ? error.message : error instanceof Error ? error.stack : error}\n`,
    );
    process.exitCode = 1;
  }
}

/**
 * The command line of a tool, as parseArgs of node:util reads it. What it does not know is refused
 * before any work is done.
 * @template {import('node:util').ParseArgsConfig} T
 * @param {T} config
 */
export function commandLine(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    // parseArgs adds advice about dashes after the first sentence.
    throw new ToolError(error instanceof Error ? error.message.split('. ')[0] : String(error));
  }
}

/** Whether this module is the program that was started. @param {string} url import.meta.url */
export function isMain(url) {
  return process.argv[1] !== undefined && url === new URL(`file://${process.argv[1]}`).href;
}
