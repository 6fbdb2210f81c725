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

import { loadParts } from './load.js';
import { platform } from './platform.js';
import { partsOf } from './sources.js';

/**
 * Loads a model from an address (a .gguf or .safetensors file, or a folder, which ends in "/"), a
 * File or Blob, bytes, or the files of a model folder.
 * @param {Source} source
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}
 */
export async function load(source, options = {}) {
  return loadParts(platform, await partsOf(source, globalThis.location?.href), options);
}

export { Model } from './client.js';
export { Conversation } from './conversation.js';
export { fitContext } from './fit.js';
