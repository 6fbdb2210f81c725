/**
 * wick in a browser.
 *
 *   import { load } from 'wick';
 *   const model = await load('/models/smollm2-135m.gguf');
 *   for await (const { text } of model.generate('Why is the sky blue?')) show(text);
 *   await model.free();
 *
 * Importing this module touches nothing: no worker, no document, no fetch.
 *
 * @import { Model } from './client.js'
 * @import { LoadOptions } from './load.js'
 * @import { Source } from './sources.js'
 */

import { keeper } from './kept.js';
import { loadParts } from './load.js';
import { persist, platform, storage } from './platform.js';
import { partsOf } from './sources.js';

/**
 * Loads a model from an address (a .gguf or .safetensors file, a manifest, which ends in ".json", or
 * a folder, which ends in "/"), a name on the Hugging Face hub (hf:owner/repository/file), a File or
 * Blob, bytes, or the files of a model folder. What comes from a server is kept for the next load.
 * @param {Source} source
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}
 */
export async function load(source, options = {}) {
  const parts = await partsOf(source, globalThis.location?.href);
  const model = await loadParts(platform, parts, options);
  // Only once there is something to lose; a browser may ask the reader.
  if (model.info.files.some(({ kept }) => kept)) persist().catch(() => {});
  return model;
}

/** What earlier loads kept here: list() it, free(url) it, ask for room(). */
export const kept = keeper(storage);

export { Model } from './client.js';
export { Conversation } from './conversation.js';
export { fitContext } from './fit.js';
