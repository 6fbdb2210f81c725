/**
 * Logits kept in a file, for comparing two runs of `wick ppl`: the native command's format, which
 * native/logits_file.h describes.
 *
 * @import { FileHandle } from 'node:fs/promises'
 * @typedef {{ nVocab: number, window: number, nWindows: number, hash: bigint }} Header
 */

import { open } from 'node:fs/promises';

const HEADER_BYTES = 32;
const MAGIC = 'WICKLOG1';

/**
 * FNV-1a over the ids, each as four little-endian bytes.
 * @param {Int32Array} ids
 */
export function hashIds(ids) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

/** Predictions of a window that count. @param {number} window */
export const scoredOf = (window) => window - 1 - Math.floor(window / 2);

/** @param {Header} header */
function headerBytes({ nVocab, window, nWindows, hash }) {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write(MAGIC, 'latin1');
  [nVocab, window, nWindows, scoredOf(window)].forEach((value, i) => {
    bytes.writeUInt32LE(value, 8 + 4 * i);
  });
  bytes.writeBigUInt64LE(hash, 24);
  return bytes;
}

/**
 * @param {string} path
 * @param {'r' | 'w'} mode
 */
function openFile(path, mode) {
  return open(path, mode).catch((error) => {
    throw new Error(
      `${path}: expected a file to ${mode === 'r' ? 'read' : 'write'}, found ${error.code}`,
    );
  });
}

/**
 * @param {string} path
 * @param {Header} header
 */
export async function createLogits(path, header) {
  const file = await openFile(path, 'w');
  await file.write(headerBytes(header));
  return file;
}

/**
 * Opens a file whose header must say what is expected.
 * @param {string} path
 * @param {Header} expected
 */
export async function openLogits(path, expected) {
  const file = await openFile(path, 'r');
  const found = Buffer.alloc(HEADER_BYTES);
  const { bytesRead } = await file.read(found, 0, HEADER_BYTES);
  if (bytesRead !== HEADER_BYTES || found.toString('latin1', 0, 8) !== MAGIC)
    throw new Error(`${path}: expected a file by --save-logits, found another`);
  const wanted = headerBytes(expected);
  const words = ['tokens in its vocabulary', 'tokens in a window', 'windows'];
  words.forEach((what, i) => {
    const [want, have] = [wanted, found].map((bytes) => bytes.readUInt32LE(8 + 4 * i));
    if (want !== have) throw new Error(`${path}: expected ${want} ${what}, found ${have}`);
  });
  if (!wanted.equals(found))
    throw new Error(`${path}: expected logits of the same text, found another's`);
  return file;
}

/**
 * The next n logits.
 * @param {FileHandle} file
 * @param {string} path
 * @param {number} n
 */
export async function readLogits(file, path, n) {
  const values = new Float32Array(n);
  const bytes = new Uint8Array(values.buffer);
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at);
    if (!bytesRead) throw new Error(`${path}: expected ${n} more logits, found the file's end`);
    at += bytesRead;
  }
  return values;
}
