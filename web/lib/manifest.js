/**
 * A manifest: what a self-hosted model consists of, in one JSON file whose name ends in .json, so
 * that a page knows every size before loading, shows progress whatever the server says, and refuses
 * a wrong byte. load('/models/smollm2/wick.json') reads it.
 *
 *   {
 *     "wick": 1,                          the format's version
 *     "name": "SmolLM2 135M",             for people; optional
 *     "licence": "Apache-2.0",            SPDX; optional
 *     "files": [                          in any order: one .gguf, or a model folder's files
 *       {
 *         "name": "smollm2-135m.gguf",    base name; decides the file's kind
 *         "url": "https://...",           optional: relative to the manifest; without it the name
 *         "bytes": 98362432,              optional, as all below
 *         "sha256": "64 hexadecimal digits",
 *         "optional": true                may be missing
 *       }
 *     ]
 *   }
 *
 * Other members are left alone, for whoever needs them.
 *
 * @import { Part } from './messages.js'
 */

/**
 * @param {string} json
 * @param {string} source The manifest's address: for messages, and what addresses are relative to.
 * @returns {Part[]} In the manifest's order.
 */
export function partsOfManifest(json, source) {
  let manifest;
  try {
    manifest = JSON.parse(json);
  } catch {
    throw new Error(`${source}: expected a manifest in JSON, found something else`);
  }
  if (manifest?.wick !== 1)
    throw new Error(`${source}: expected a manifest with "wick": 1, found ${show(manifest?.wick)}`);
  const { files } = manifest;
  if (!Array.isArray(files) || !files.length)
    throw new Error(`${source}: expected a list of files, found ${show(files)}`);
  const parts = files.map((file, i) => partOf(file, `${source}: files[${i}]`, source));
  const names = new Set(parts.map(({ name }) => name));
  if (names.size < parts.length)
    throw new Error(`${source}: expected every name once, found one twice`);
  return parts;
}

/**
 * @param {any} file
 * @param {string} where
 * @param {string} base
 * @returns {Part}
 */
function partOf(file, where, base) {
  /** @param {string} field @param {boolean} right @param {string} expected */
  const check = (field, right, expected) => {
    if (!right)
      throw new Error(`${where}.${field}: expected ${expected}, found ${show(file?.[field])}`);
  };
  const { name, url = encodeURIComponent(name), bytes, sha256, optional } = file ?? {};
  const known = typeof name === 'string' && /^[^\\/]+\.(gguf|safetensors|json|jinja)$/i.test(name);
  check('name', known, 'the base name of a model file');
  check('url', typeof url === 'string' && URL.canParse(url, base), 'an address');
  check('bytes', bytes === undefined || (Number.isSafeInteger(bytes) && bytes > 0), 'a count');
  const hex = typeof sha256 === 'string' && /^[\da-f]{64}$/i.test(sha256);
  check('sha256', sha256 === undefined || hex, '64 hexadecimal digits');
  return {
    name,
    url: new URL(url, base).href,
    bytes,
    sha256: sha256?.toLowerCase(),
    optional: optional === true,
  };
}

/** @param {unknown} value For messages: short. */
function show(value) {
  return value === undefined ? 'none' : JSON.stringify(value).slice(0, 60);
}
