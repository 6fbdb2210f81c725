// Runs the native command and reads what it writes, for the golden tests.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const command = process.env.WICK_COMMAND ?? path.join(root, 'build', 'wick');

/** @param {string} name a path relative to tests/golden */
export const golden = (name) => fileURLToPath(new URL(name, import.meta.url));

/** @param {string} name a JSON file in tests/golden */
export const readJson = (name) => JSON.parse(readFileSync(golden(name), 'utf8'));

/**
 * @param {string} file
 * @returns {Float32Array}
 */
export function readFloats(file) {
  const bytes = readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

/**
 * One run of the command: its standard output. A failed run throws with what it said on stderr.
 * @param {string[]} options
 * @param {string} [input]
 */
export const wick = (options, input = '') =>
  execFileSync(command, options, {
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'pipe'],
  });

/**
 * Calls use with a new folder that is removed afterwards.
 * @template T
 * @param {(folder: string) => T} use
 * @returns {T}
 */
export function inTemporaryFolder(use) {
  const folder = mkdtempSync(path.join(tmpdir(), 'wick-golden-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The logits of every position, one row of nVocab each, and the hidden states if asked for.
 * @param {string} model
 * @param {number[]} ids
 * @param {{ exact?: boolean, hidden?: boolean, threads?: number }} [how]
 */
export function runLogits(model, ids, { exact = true, hidden = false, threads = 2 } = {}) {
  return inTemporaryFolder((folder) => {
    const out = path.join(folder, 'logits.f32');
    const hiddenOut = path.join(folder, 'hidden.f32');
    const options = ['logits', model, '--ids', ids.join(','), '--all', '--out', out];
    if (exact) options.push('--exact');
    if (hidden) options.push('--hidden', hiddenOut);
    wick([...options, '-t', String(threads)]);
    const logits = readFloats(out);
    const nVocab = logits.length / ids.length;
    const rows = ids.map((_, i) => logits.subarray(i * nVocab, (i + 1) * nVocab));
    return { rows, hidden: hidden ? readFloats(hiddenOut) : undefined };
  });
}

/** The real model, or undefined where it hasn't been fetched. */
export function realModel() {
  const folder = process.env.WICK_MODELS ?? path.join(root, 'models');
  const file = path.join(folder, 'smollm2-135m.gguf');
  return existsSync(file) ? file : undefined;
}
