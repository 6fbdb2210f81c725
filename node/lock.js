/**
 * One holder of a name on this machine, across threads and processes: a socket that listens under
 * that name. It goes with its thread, however that ends, and who waits notices at once.
 */

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** @param {string} name */
function address(name) {
  const id = `wick-${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
  if (process.platform === 'win32') return `\\\\.\\pipe\\${id}`;
  // Linux' abstract names need no file that could be left behind.
  return process.platform === 'linux' ? `\0${id}` : path.join(tmpdir(), `${id}.sock`);
}

/**
 * @param {string} name
 * @param {() => void} onWait
 * @returns {Promise<() => void>} Its release.
 */
export async function socketLock(name, onWait) {
  const at = address(name);
  for (let told = false; ; told = true) {
    const release = await listen(at);
    if (release) return release;
    if (!told) onWait();
    const live = await holderEnds(at);
    // A file that a crash left behind.
    if (!live && process.platform !== 'linux') await rm(at, { force: true }).catch(() => {});
  }
}

/**
 * @param {string} at
 * @returns {Promise<(() => void) | null>} null: another one listens.
 */
function listen(at) {
  return new Promise((resolve, reject) => {
    /** @type {Set<import('node:net').Socket>} */
    const waiting = new Set();
    const server = createServer((socket) => {
      waiting.add(socket.on('error', () => {}));
      socket.on('close', () => waiting.delete(socket));
    });
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    server.listen(at, () =>
      resolve(() => {
        server.close();
        for (const socket of waiting) socket.destroy();
      }),
    );
  });
}

/**
 * Waits until whoever listens has ended.
 * @param {string} at
 * @returns {Promise<boolean>} Whether anybody did.
 */
function holderEnds(at) {
  return new Promise((resolve) => {
    let live = false;
    connect(at)
      .on('connect', () => (live = true))
      .on('error', () => {})
      .on('close', () => resolve(live))
      .resume();
  });
}
