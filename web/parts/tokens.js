/**
 * The tokens of a message, each with how likely the model found it: by number and by colour. A press
 * shows what else could have stood there. One tab stop; arrows go from token to token.
 *
 * @import { Model } from '../lib/client.js'
 * @import { TokenScore } from './token-scores.js'
 */

import { make, makeButton } from './dom.js';

/** From so much on, by class. */
const SURE = [0.5, 0.1, 0.01, 0];

/**
 * @param {Model} model
 * @param {TokenScore[]} scores
 * @returns {Promise<HTMLElement>}
 */
export async function makeTokenView(model, scores) {
  const texts = await textsOf(model, scores);
  const text = (/** @type {number} */ id) => texts.get(id) ?? String(id);
  const list = make('ol', 'tokens');
  list.ariaLabel = 'Tokens, each with its probability';
  const popover = make('div', 'alternatives');
  popover.popover = 'auto';
  popover.tabIndex = -1;
  for (const [i, score] of scores.entries()) {
    const chance = Math.exp(score.logprob);
    const sure = SURE.findIndex((least) => chance >= least) + 1;
    const button = makeButton('', `token sure-${sure}`);
    const visible = [make('span', '', shown(text(score.id))), make('small', '', percent(chance))];
    for (const part of visible) part.ariaHidden = 'true';
    const name = `${spoken(text(score.id))}, ${percent(chance)} percent`;
    button.append(...visible, make('span', 'visually-hidden', name));
    button.tabIndex = i === 0 ? 0 : -1;
    button.addEventListener('click', () => {
      popover.replaceChildren(...describe(score, text));
      popover.showPopover();
      place(popover, button);
      popover.focus();
    });
    list.append(make('li', '', button));
  }
  list.addEventListener('keydown', (event) => move(list, event));
  const hint = make('p', 'note', 'Percent, as the model saw it before temperature and filters.');
  return make('div', 'token-view', list, hint, popover);
}

/**
 * What the ids stand for; a piece of a character as its bytes.
 * @param {Model} model
 * @param {TokenScore[]} scores
 */
async function textsOf(model, scores) {
  const ids = new Set(
    scores.flatMap(({ id, alternatives }) => [id, ...alternatives.map((a) => a.id)]),
  );
  const entries = [...ids].map(async (id) => {
    const bytes = await model.detokenizeBytes([id]);
    return /** @type {const} */ ([id, decode(bytes)]);
  });
  return new Map(await Promise.all(entries));
}

/** @param {Uint8Array} bytes */
function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  }
}

/** With its spaces and line ends to be seen. @param {string} text */
const shown = (text) =>
  text.replace(/ /g, '\u00b7').replace(/\n/g, '\u21b5').replace(/\t/g, '\u21e5') || '\u2205';

/** @param {string} text */
const spoken = (text) =>
  text.trim() || (text.includes('\n') ? 'line end' : text ? 'space' : 'nothing');

/** @param {number} chance From 0 to 1. */
export function percent(chance) {
  const value = 100 * chance;
  if (value > 0 && value < 0.1) return '<0.1';
  return value.toFixed(value < 9.95 ? 1 : 0);
}

/** @param {TokenScore} score @param {(id: number) => string} text */
function describe({ id, logprob, alternatives }, text) {
  const among = alternatives.some((each) => each.id === id);
  const all = among ? alternatives : [...alternatives, { id, logprob }];
  const rows = all.map((each) => {
    const name = make('code', '', shown(text(each.id)));
    const row = make('li', '', name, ` ${percent(Math.exp(each.logprob))} %`);
    if (each.id === id) row.append(make('strong', '', ' here'));
    return row;
  });
  return [make('p', 'note', `Token ${id}; likeliest first`), make('ol', '', ...rows)];
}

/** Below its token, or above where there is no room. @param {HTMLElement} popover @param {HTMLElement} button */
function place(popover, button) {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popover;
  const below = at.bottom + height + 8 < innerHeight;
  popover.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  popover.style.top = `${Math.max(8, below ? at.bottom + 4 : at.top - height - 4)}px`;
}

/** @param {HTMLElement} list @param {KeyboardEvent} event */
function move(list, event) {
  const buttons = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('.token')]);
  const from = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: buttons.length - 1 }[
    event.key
  ];
  if (to === undefined || !buttons[to]) return;
  event.preventDefault();
  buttons[from].tabIndex = -1;
  buttons[to].tabIndex = 0;
  buttons[to].focus();
}
