/**
 * How a model's file begins, so that a page in its place is refused before anything of it is kept.
 * Sources: the GGUF specification; the safetensors format (8 bytes of length, then JSON).
 */

import { FetchError } from './fetch-stream.js';

const START_BYTES = 9;

/** @type {[RegExp, (start: string) => boolean][]} The file's name, and whether it may begin so. */
const STARTS = [
  [/\.gguf$/i, (start) => 'GGUF'.startsWith(start.slice(0, 4))],
  [/\.safetensors$/i, (start) => start.length < START_BYTES || start[8] === '{'],
  [/\.json$/i, (start) => /^\xef?\xbb?\xbf?\s*([[{]|$)/.test(start)],
];

/**
 * @param {string} name
 * @param {Uint8Array} bytes The file's first, any number.
 */
export function checkStart(name, bytes) {
  const start = String.fromCharCode(...bytes.subarray(0, START_BYTES));
  const [, right] = STARTS.find(([pattern]) => pattern.test(name)) ?? [];
  if (!right || right(start)) return;
  const found = JSON.stringify(start.replace(/[^ -~]/g, '?'));
  throw new FetchError('wrong', `expected a ${name.split('.').pop()} file, found ${found} ...`);
}
