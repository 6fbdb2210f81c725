/**
 * `wick ppl`: perplexity over windows of a text, and how far the model is from another one whose
 * logits a file has.
 *
 * @import { Values } from './cli.js'
 */
/** @param {string} source @param {Values} values */
export async function ppl(source, values) {
  throw new Error(`${source} ${values.file}`);
}
