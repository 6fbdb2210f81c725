// The native command for its tests: run it, expect it to succeed or to refuse. Needs build/wick.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
export const wick = process.env.WICK_COMMAND || path.join(root, 'build', 'wick');
const models = process.env.WICK_MODELS || path.join(root, 'models');
export const random = path.join(root, 'tests', 'golden', 'generality', 'type_q8_0.gguf');
export const folder = path.join(root, 'tests', 'golden', 'generality', 'smollm2_f16');
export const tiny = path.join(root, 'web', 'models', 'tiny.gguf');
export const smollm2 = path.join(models, 'smollm2-135m.gguf');

export const noCommand = existsSync(wick) ? false : 'build/wick is not built';
export const noTiny = noCommand || (existsSync(tiny) ? false : 'web/models/tiny.gguf is missing');
export const noSmollm2 =
  noCommand || (existsSync(smollm2) ? false : 'SmolLM2 is not there (npm run model)');

/** A folder of this process' own, gone at its end. */
export const scratch = mkdtempSync(path.join(tmpdir(), 'wick-cli-'));
process.on('exit', () => rmSync(scratch, { recursive: true }));

/**
 * Run the command to its end.
 * @param {string[]} args
 * @param {{ input?: string, env?: Record<string, string> }} [options]
 */
export function run(args, { input = '', env = {} } = {}) {
  const result = spawnSync(wick, args, {
    input,
    cwd: scratch,
    env: { ...process.env, ...env },
    maxBuffer: 1 << 28,
    timeout: 120_000,
  });
  return {
    status: result.status,
    signal: result.signal,
    bytes: result.stdout,
    stdout: result.stdout.toString(),
    stderr: result.stderr.toString(),
  };
}

/** @param {string[]} args @param {{ input?: string }} [options] */
export function succeed(args, options) {
  const result = run(args, options);
  assert.equal(result.status, 0, `${args.join(' ')}: ${result.stderr}`);
  return result;
}

/**
 * Exit with a status, nothing on stdout, one line on stderr.
 * @param {number} status
 * @param {string[]} args
 * @param {RegExp} line
 * @param {{ input?: string, env?: Record<string, string> }} [options]
 */
export function refuse(status, args, line, options) {
  const result = run(args, options);
  assert.equal(result.status, status, `${args.join(' ')}: ${result.stderr}`);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /^wick: [^\n]+\n$/);
  assert.match(result.stderr, line);
}

/** @param {Record<string, unknown>} object @param {string[]} keys */
export function assertNumbers(object, keys) {
  for (const key of keys) assert.equal(typeof object[key], 'number', key);
}
