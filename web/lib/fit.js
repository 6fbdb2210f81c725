/**
 * What of a conversation fits into the context. When it grows too long its oldest turns are left
 * out, down to half the context, so that the turns after that find their prefix in the cache.
 *
 * @import { Model } from './client.js'
 * @import { ChatMessage } from './messages.js'
 */

/** Tokens left free for an answer: these, or a quarter of a small context. */
const RESERVE = 256;

/**
 * @param {Pick<Model, 'info' | 'tokenize'>} model
 * @param {ChatMessage[]} system The system prompt, or nothing; it always stays.
 * @param {ChatMessage[]} said Questions and answers, a question last.
 * @param {number} [dropped] How many of said were left out before.
 * @returns {Promise<{ ids: Int32Array, dropped: number }>} The prompt, and how many of said it
 *   leaves out: whole turns.
 * @throws {Error} When the last question does not fit alone.
 */
export async function fitContext(model, system, said, dropped = 0) {
  const { context } = model.info;
  const most = context - Math.min(RESERVE, Math.floor(context / 4));
  const from = (/** @type {number} */ n) => model.tokenize([...system, ...said.slice(n)]);
  const ids = await from(dropped);
  if (ids.length <= most) return { ids, dropped };
  const starts = said.flatMap(({ role }, i) => (role === 'user' && i > dropped ? [i] : []));
  // What fits once fits from there on.
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((await from(starts[middle])).length <= context / 2) high = middle;
    else low = middle + 1;
  }
  const start = starts[low] ?? dropped;
  const fewer = await from(start);
  if (fewer.length <= most) return { ids: fewer, dropped: start };
  throw new Error(
    `wick: message: expected at most ${most} tokens with its frame, found ${fewer.length}`,
  );
}
