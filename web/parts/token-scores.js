/**
 * How likely a model finds each token of a message: reported with an answer while it is drawn, or
 * computed afterwards for any message. Both are natural logarithms of the model's distribution,
 * before temperature and filters.
 *
 * @import { Model } from '../lib/client.js'
 * @import { ChatMessage, Logprob } from '../lib/messages.js'
 */

/**
 * @typedef {object} TokenScore
 * @property {number} id
 * @property {number} logprob
 * @property {Logprob[]} alternatives Best first.
 */

export const N_ALTERNATIVES = 5;
/** Positions whose logits are asked for at once: 32 of SmolLM2's are 6 MB. */
const CHUNK = 32;

/**
 * Scores a message in its conversation. An answer's tokens are those of its text; of a question
 * those of its frame are shown too, since the model reads them.
 * @param {Model} model One whose chat format is known.
 * @param {ChatMessage[]} before
 * @param {ChatMessage} message
 * @returns {Promise<TokenScore[]>}
 * @throws {Error} When it ends beyond the context.
 */
export async function scoreMessage(model, before, message) {
  const { ids, first } = await idsOf(model, before, message);
  const { context } = model.info;
  if (ids.length > context)
    throw new Error(`tokens: expected at most ${context} up to this message, found ${ids.length}`);
  /** @type {TokenScore[]} */
  const scores = [];
  for (let at = 0; at < ids.length - 1;) {
    // What stands before the message is read at once, with no logits but the last position's.
    const end = at < first - 1 ? first - 1 : Math.min(at + CHUNK, ids.length - 1);
    const scored = at >= first - 1;
    const part = ids.subarray(at, end);
    const firstOutput = scored ? 0 : part.length;
    const { logits } = await model.evaluate(part, { past: at, firstOutput });
    for (let i = 0; scored && i < part.length; i++) {
      const { nVocab } = model.info.model;
      scores.push(scoreOne(logits.subarray(i * nVocab, (i + 1) * nVocab), ids[at + i + 1]));
    }
    at = end;
  }
  return scores;
}

/**
 * @param {Model} model
 * @param {ChatMessage[]} before
 * @param {ChatMessage} message
 * @returns {Promise<{ ids: Int32Array, first: number }>} first: the message's first token.
 */
async function idsOf(model, before, message) {
  const head = before.length ? await model.tokenize(before) : new Int32Array(0);
  if (message.role === 'assistant') {
    const text = await model.tokenize(message.content, { special: false });
    return { ids: Int32Array.from([...head, ...text]), first: head.length };
  }
  const ids = await model.tokenize([...before, message]);
  let first = 0;
  while (first < head.length && head[first] === ids[first]) first++;
  return { ids, first: Math.max(1, first) }; // nothing predicts the very first token
}

/**
 * @param {Float32Array} logits
 * @param {number} id The token that follows.
 * @returns {TokenScore}
 */
export function scoreOne(logits, id) {
  let most = -Infinity;
  for (const logit of logits) if (logit > most) most = logit;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - most);
  const total = most + Math.log(sum);
  /** @type {Logprob[]} */
  const best = [];
  let least = -Infinity;
  logits.forEach((logit, other) => {
    if (best.length === N_ALTERNATIVES && logit <= least) return;
    best.push({ id: other, logprob: logit - total });
    best.sort((a, b) => b.logprob - a.logprob);
    best.length = Math.min(best.length, N_ALTERNATIVES);
    least = best[best.length - 1].logprob + total;
  });
  return { id, logprob: logits[id] - total, alternatives: best };
}
