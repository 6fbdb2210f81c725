/**
 * A model on this machine: a file, a folder, or a name under $WICK_MODELS or models/.
 *
 * @import { Part } from '../web/lib/messages.js'
 */

import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ggufParts, INDEX, inOrder, shardsOf } from '../web/lib/sources.js';

/**
 * @param {string} name
 * @returns {Promise<Part[]>}
 */
export async function pathParts(name) {
  const { file, stats } = await find(name.startsWith('file:') ? fileURLToPath(name) : name);
  if (stats.isDirectory()) return folderParts(file);
  if (!stats.isFile())
    throw new Error(`wick: ${file}: expected a model file or folder, found ${kindOf(stats)}`);
  const part = { name: path.basename(file), path: file };
  if (/\.gguf$/i.test(file))
    return ggufParts(part.name).map((name) => ({
      name,
      path: path.join(path.dirname(file), name),
    }));
  if (!/\.safetensors$/i.test(file))
    throw new Error(
      `wick: ${file}: expected a .gguf or .safetensors file or a folder, found another file`,
    );
  const beside = await filesOf(path.dirname(file));
  return inOrder([...beside.filter((other) => !other.name.endsWith('.safetensors')), part], file);
}

/** Where an index names the weights, those, else all. @param {string} folder */
async function folderParts(folder) {
  const files = await filesOf(folder);
  const index = files.find(({ name }) => name === INDEX)?.path;
  if (!index) return inOrder(files, folder);
  const shards = shardsOf(await readFile(index, 'utf8'), index);
  const others = files.filter(({ name }) => !name.endsWith('.safetensors'));
  return inOrder(
    [...others, ...shards.map((shard) => ({ name: shard, path: path.join(folder, shard) }))],
    folder,
  );
}

/** @param {string} name */
async function find(name) {
  const models = process.env.WICK_MODELS || 'models';
  if (!name) throw new Error('wick: model: expected a path or a name, found an empty text');
  const tried = [name];
  if (!/[\\/]/.test(name)) tried.push(path.join(models, name), path.join(models, `${name}.gguf`));
  for (const file of tried) {
    const stats = await stat(file).catch(() => null);
    if (stats) return { file, stats };
  }
  throw new Error(
    `wick: ${name}: expected a model file, a folder or a name in ${models}/, found none`,
  );
}

/** @param {import('node:fs').Stats} stats */
function kindOf(stats) {
  if (stats.isFIFO()) return 'a pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/**
 * @param {string} folder
 * @returns {Promise<Part[]>}
 */
async function filesOf(folder) {
  return (await readdir(folder)).map((name) => ({ name, path: path.join(folder, name) }));
}
