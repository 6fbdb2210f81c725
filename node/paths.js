/**
 * A model on this machine: a file, a folder, or a name under $WICK_MODELS or models/.
 *
 * @import { Part } from '../web/lib/messages.js'
 */

import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inOrder } from '../web/lib/sources.js';

/**
 * @param {string} name
 * @returns {Promise<Part[]>}
 */
export async function pathParts(name) {
  const { file, stats } = await find(name.startsWith('file:') ? fileURLToPath(name) : name);
  if (stats.isDirectory()) return inOrder(await filesOf(file));
  const part = { name: path.basename(file), path: file };
  if (!file.endsWith('.safetensors')) return [part];
  const beside = await filesOf(path.dirname(file));
  return inOrder([...beside.filter((other) => !other.name.endsWith('.safetensors')), part]);
}

/** @param {string} name */
async function find(name) {
  const models = process.env.WICK_MODELS || 'models';
  const tried = [name];
  if (!/[\\/]/.test(name)) tried.push(path.join(models, name), path.join(models, `${name}.gguf`));
  for (const file of tried) {
    const stats = await stat(file).catch(() => null);
    if (stats) return { file, stats };
  }
  throw new Error(`wick: ${name}: expected a model file, a folder or a name in ${models}/`);
}

/**
 * @param {string} folder
 * @returns {Promise<Part[]>}
 */
async function filesOf(folder) {
  return (await readdir(folder)).map((name) => ({ name, path: path.join(folder, name) }));
}
