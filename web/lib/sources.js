/**
 * What a caller names as a model, as the list of files that the engine reads, in its order: one
 * .gguf file, or a folder in Hugging Face's layout.
 *
 * @import { Part } from './messages.js'
 * @typedef {string | URL | Blob | ArrayBuffer | ArrayBufferView | Iterable<File>} Source
 */

/** Names the shards of weights in several files. */
export const INDEX = 'model.safetensors.index.json';

const FOLDER_FILES = [
  { name: 'config.json' },
  { name: 'tokenizer.json' },
  { name: 'tokenizer_config.json', optional: true },
  { name: 'chat_template.jinja', optional: true },
];

/**
 * @param {Source} source
 * @param {string} base What relative addresses are relative to.
 * @returns {Promise<Part[]>}
 */
export async function partsOf(source, base) {
  if (typeof source === 'string' || source instanceof URL) return urlParts(new URL(source, base));
  if (source instanceof Blob) return [blobPart(source)];
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return [blobPart(new Blob([/** @type {BlobPart} */ (source)]))];
  if (source && Symbol.iterator in source) return inOrder([...source].map(blobPart), 'the files');
  throw new Error('wick: expected an address, a file or bytes of a model, found something else');
}

/**
 * Files that lie together, in the engine's order; others are left out.
 * @param {Part[]} parts
 * @param {string} where For messages.
 */
export function inOrder(parts, where) {
  if (parts.length === 1) return parts;
  const named = new Map(parts.map((part) => [part.name, part]));
  /** @type {Part[]} */
  const ordered = [];
  for (const { name, optional } of FOLDER_FILES) {
    const part = named.get(name);
    if (part) ordered.push(part);
    else if (!optional)
      throw new Error(`wick: ${where}: expected a file ${name} in it, found none`);
  }
  const weights = parts.filter(({ name }) => name.endsWith('.safetensors'));
  if (!weights.length)
    throw new Error(`wick: ${where}: expected a .safetensors file in it, found none`);
  return [...ordered, ...weights.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

/** @param {URL} url */
async function urlParts(url) {
  const name = decodeURIComponent(url.pathname.split('/').pop() ?? '');
  const folder = FOLDER_FILES.map((file) => ({ ...file, url: new URL(file.name, url).href }));
  if (name === '') {
    const shards = await shardNames(url);
    return [...folder, ...shards.map((shard) => ({ name: shard, url: new URL(shard, url).href }))];
  }
  if (name.endsWith('.safetensors')) return [...folder, { name, url: url.href }];
  return [{ name: ggufName(name), url: url.href }];
}

/**
 * The weight files of a folder: those that its index names, else the one.
 * @param {URL} folder
 */
async function shardNames(folder) {
  const response = await fetch(new URL(INDEX, folder));
  if (!response.ok) return ['model.safetensors'];
  return shardsOf(await response.text(), INDEX);
}

/**
 * The files that an index of shards names: of its own folder, each once.
 * @param {string} json
 * @param {string} source For messages.
 */
export function shardsOf(json, source) {
  let map;
  try {
    map = JSON.parse(json).weight_map;
  } catch {
    map = null;
  }
  const names = map && !Array.isArray(map) ? [...new Set(Object.values(map).map(String))] : [];
  if (!names.length) throw new Error(`wick: ${source}: expected a weight_map, found none`);
  const odd = names.find((name) => !/^[^\\/]+\.safetensors$/.test(name));
  if (odd !== undefined)
    throw new Error(`wick: ${source}: expected names of .safetensors files, found ${odd}`);
  return names.sort();
}

/**
 * @param {Blob} blob
 * @returns {Part}
 */
function blobPart(blob) {
  return { name: ggufName('name' in blob ? String(blob.name) : 'model.gguf'), blob };
}

/**
 * A name decides a file's kind; one that says nothing is a GGUF file's.
 * @param {string} name
 */
function ggufName(name) {
  return /\.(gguf|safetensors|json|jinja)$/i.test(name) ? name : `${name}.gguf`;
}
