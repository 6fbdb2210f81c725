/** What the tests of the Node package share: where models lie, and numbers from files. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const golden = `${root}tests/golden/`;

const models = process.env.WICK_MODELS || `${root}models`;

/** The real model, or null. */
export const smollm2 = [`${models}/smollm2-135m.gguf`].find((file) => existsSync(file)) ?? null;
/** The model that the project trained. */
export const tiny = `${root}web/models/tiny.gguf`;

/** @param {string} file */
export const readJson = (file) => JSON.parse(readFileSync(golden + file, 'utf8'));

/** @param {string} file @returns {Float32Array} */
export function readFloats(file) {
  const bytes = readFileSync(golden + file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

/** @param {Float32Array} a @param {Float32Array} b */
export function largestDifference(a, b) {
  if (a.length !== b.length) throw new Error(`expected ${b.length} numbers, found ${a.length}`);
  let largest = 0;
  // A NaN anywhere makes the result NaN, which no tolerance admits.
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i] - b[i]));
  return largest;
}

/**
 * The mean over rows of the Kullback-Leibler divergence of found from expected, from logits.
 * @param {Float32Array} found
 * @param {Float32Array} expected
 * @param {number} width
 */
export function meanKl(found, expected, width) {
  const n = expected.length / width;
  let sum = 0;
  for (let row = 0; row < n; row++) {
    const [p, q] = [expected, found].map((all) =>
      logSoftmax(all.subarray(row * width, (row + 1) * width)),
    );
    for (let i = 0; i < width; i++) sum += Math.exp(p[i]) * (p[i] - q[i]);
  }
  return sum / n;
}

/** @param {Float32Array} logits */
function logSoftmax(logits) {
  const values = Float64Array.from(logits);
  const largest = values.reduce((a, b) => Math.max(a, b));
  const total = values.reduce((sum, value) => sum + Math.exp(value - largest), 0);
  return values.map((value) => value - largest - Math.log(total));
}

/**
 * A whole answer, with what its pieces said.
 * @param {AsyncIterable<import('../../web/lib/messages.js').Piece>} pieces
 */
export async function collect(pieces) {
  let text = '';
  /** @type {number[]} */
  const tokens = [];
  /** @type {import('../../web/lib/messages.js').Piece | null} */
  let last = null;
  for await (const piece of pieces) {
    text += piece.text;
    if (piece.type === 'token') tokens.push(piece.token);
    last = piece;
  }
  if (!last) throw new Error('expected a last piece, found none');
  return { text, tokens, last };
}
