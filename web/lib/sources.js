/**
 * What a caller names as a model, as the list of files that the engine reads, in its order: a .gguf
 * file, all parts of one that was split, or a folder in Hugging Face's layout.
 *
 * @import { Part } from './messages.js'
 * @typedef {string | URL | Blob | ArrayBuffer | ArrayBufferView | Iterable<File>} Source
 */

import { shown } from './check.js';

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
  if (typeof source === 'string' && source.startsWith('hf:'))
    return urlParts(huggingFaceUrl(source));
  if (typeof source === 'string' || source instanceof URL) return urlParts(urlOf(source, base));
  if (source instanceof Blob) return [blobPart(source)];
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return [blobPart(new Blob([/** @type {BlobPart} */ (source)]))];
  /** @type {any[]} */
  const files =
    typeof source === 'object' && source && Symbol.iterator in source ? [...source] : [];
  if (files.length && files.every((file) => file instanceof Blob))
    return inOrder(files.map(blobPart), 'the files');
  throw new Error(
    `wick: model: expected an address, a file, files or bytes, found ${shown(source)}`,
  );
}

/**
 * @param {string | URL} address
 * @param {string} base
 */
function urlOf(address, base) {
  const text = String(address);
  let url = null;
  try {
    url = text ? new URL(text, base) : null;
  } catch {
    // said below
  }
  // An address is fetched, so that javascript:, mailto: and their like are none.
  if (url && (url.pathname.startsWith('/') || /^(blob|data):$/.test(url.protocol))) return url;
  throw new Error(`wick: ${text}: expected the address of a model, found none that can be fetched`);
}

/**
 * Files that lie together, in the engine's order; others are left out.
 * @param {Part[]} parts
 * @param {string} where For messages.
 */
export function inOrder(parts, where) {
  if (parts.length === 1) return parts;
  if (parts.every(({ name }) => GGUF_PART.test(name))) return parts.sort(byName);
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
  return [...ordered, ...weights.sort(byName)];
}

/** @param {Part} a @param {Part} b */
const byName = (a, b) => (a.name < b.name ? -1 : 1);

/** The end of a name of one part of a .gguf file that was split, as llama-gguf-split gives it. */
const GGUF_PART = /-\d{5}-of-(\d{5})\.gguf$/i;
const MOST_PARTS = 4096; // as src/formats/gguf.h has it

/**
 * The names of all parts of a split .gguf file, in order, where the name is one of them; else the
 * name alone.
 * @param {string} name
 */
export function ggufParts(name) {
  const match = GGUF_PART.exec(name);
  const n = Number(match?.[1] ?? 0);
  if (!match || n < 1 || n > MOST_PARTS) return [name];
  const end = name.slice(-'.gguf'.length);
  return Array.from({ length: n }, (_, i) => {
    const number = String(i + 1).padStart(5, '0');
    return `${name.slice(0, match.index)}-${number}-of-${match[1]}${end}`;
  });
}

/**
 * @param {URL} url
 * @returns {Part[]}
 */
function urlParts(url) {
  const { href } = url;
  if (!url.pathname.startsWith('/')) return [{ name: 'model.gguf', url: href }]; // blob:, data:
  const name = lastName(url);
  if (name.endsWith('.json')) return [{ name, url: href, list: 'manifest' }];
  if (name !== '' && !name.endsWith('.safetensors')) return ggufUrls(ggufName(name), url);
  /** @type {Part[]} */
  const folder = FOLDER_FILES.map((file) => ({ ...file, url: new URL(file.name, url).href }));
  if (name !== '') return [...folder, { name, url: href }];
  const index = new URL(INDEX, url).href;
  return [...folder, { name: INDEX, url: index, optional: true, list: 'index' }];
}

/**
 * Each part's address is the given one with the other's name in it, its query kept.
 * @param {string} name
 * @param {URL} url
 * @returns {Part[]}
 */
function ggufUrls(name, url) {
  const names = ggufParts(name);
  if (names.length === 1) return [{ name, url: url.href }];
  return names.map((part) => {
    const own = new URL(url);
    own.pathname = own.pathname.replace(/[^/]*$/, encodeURIComponent(part));
    return { name: part, url: own.href };
  });
}

/** @param {URL} url */
function lastName({ pathname }) {
  const name = pathname.split('/').pop() ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // a lone %
  }
}

/**
 * The address of `hf:owner/repository/file`, or of a folder when no file is named; after the
 * repository `@revision` may follow.
 * @param {string} name
 */
function huggingFaceUrl(name) {
  const match = /^hf:([\w.-]+\/[\w.-]+)(?:@([^/]+))?(?:\/(.*))?$/.exec(name);
  if (!match)
    throw new Error(
      `wick: expected hf:owner/repository or hf:owner/repository/file, found ${name}`,
    );
  const [, repository, revision = 'main', file = ''] = match;
  const path = file.split('/').map(encodeURIComponent).join('/');
  const at = encodeURIComponent(revision);
  return new URL(`https://huggingface.co/${repository}/resolve/${at}/${path}`);
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
