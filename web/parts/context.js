/**
 * How full the context is, with what is being written; told before anything is left out, which
 * lib/fit.js decides.
 *
 * @import { Model } from '../lib/client.js'
 */

import { element } from './dom.js';
import { count } from './format.js';

/** From here on the reader is told what will happen. */
const WARN_SHARE = 0.6;

const PAUSE_MILLISECONDS = 300;

/**
 * Keeps the meter under the composer up to date while the reader writes.
 * @param {HTMLTextAreaElement} field
 * @param {(model: Model) => Promise<number | null>} used Tokens of the conversation; null while
 *   that changes.
 * @returns {(model: Model | null) => void} To be called when the model or the conversation changes.
 */
export function startContext(field, used) {
  /** @type {Model | null} */
  let model = null;
  let timer = 0;
  const show = async () => {
    const chats = model !== null && model.info.model.chatFormat !== null;
    element('context', HTMLElement).hidden = !chats;
    if (!model || !chats) return;
    const text = field.value.trim();
    const n = await used(model);
    if (n === null) return;
    const draft = text ? (await model.tokenize(text, { special: false })).length : 0;
    const { context } = model.info;
    element('context-meter', HTMLMeterElement).value = Math.min(1, (n + draft) / context);
    element('context-text', HTMLElement).textContent = describeContext(n, draft, context);
  };
  const later = () => {
    clearTimeout(timer);
    // A model that was freed meanwhile has nothing to say; the next one will.
    timer = window.setTimeout(() => show().catch(() => {}), PAUSE_MILLISECONDS);
  };
  field.addEventListener('input', later);
  return (now) => {
    model = now;
    later();
  };
}

/**
 * @param {number} used Tokens of the conversation so far.
 * @param {number} draft Tokens of what is being written.
 * @param {number} context
 * @returns {string}
 */
function describeContext(used, draft, context) {
  const total = used + draft;
  const numbers = `${total.toLocaleString('en')} of ${count(context, 'token')}`;
  const parts = [draft ? `${numbers}, ${draft} of them in your message` : numbers];
  if (total > context * WARN_SHARE)
    parts.push('when it is full the model goes on without the oldest messages');
  return parts.join('; ');
}
