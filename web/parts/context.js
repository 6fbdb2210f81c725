/** How full the context is, in words; told before anything is left out. See lib/fit.js. */

import { count } from './format.js';

/** From here on the reader is told what will happen. */
const WARN_SHARE = 0.6;

/**
 * @param {number} used Tokens of the conversation so far.
 * @param {number} draft Tokens of what is being written.
 * @param {number} context
 * @returns {string}
 */
export function describeContext(used, draft, context) {
  const total = used + draft;
  const numbers = `${total.toLocaleString('en')} of ${count(context, 'token')}`;
  const parts = [draft ? `${numbers}, ${draft} of them in your message` : numbers];
  if (total > context * WARN_SHARE)
    parts.push('when it is full the model goes on without the oldest messages');
  return parts.join('; ');
}
