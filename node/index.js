/**
 * wick in Node: the same engine and the same API as in a browser, on worker threads.
 *
 *   import { load } from 'wick';
 *   const model = await load('smollm2-135m');
 *   console.log((await model.chat('Why is the sky blue?')).text);
 *   await model.free();
 *
 * @import { Model } from '../web/lib/client.js'
 * @import { LoadOptions } from '../web/lib/load.js'
 * @import { Source } from '../web/lib/sources.js'
 */

import { keeper } from '../web/lib/kept.js';
import { loadParts } from '../web/lib/load.js';
import { partsOf } from '../web/lib/sources.js';
import { pathParts } from './paths.js';
import { platform, storage } from './platform.js';

/**
 * Loads a model from a path (a .gguf or .safetensors file or a model folder), a name under
 * $WICK_MODELS or models/, an http address, an hf: name, a Blob, or bytes. What comes from a server is
 * kept under $WICK_MODELS, or in the platform's folder for caches.
 * @param {Source} source
 * @param {LoadOptions} [options]
 * @returns {Promise<Model>}
 */
export async function load(source, options = {}) {
  const text = source instanceof URL ? source.href : source;
  if (typeof text === 'string' && !/^(https?|hf|blob|data):/i.test(text))
    return loadParts(platform, await pathParts(text), options);
  return loadParts(platform, await partsOf(source, 'file:///'), options);
}

/** What earlier loads kept here: list() it, free(url) it, ask for room(). */
export const kept = keeper(storage);

export { Model } from '../web/lib/client.js';
export { Conversation } from '../web/lib/conversation.js';
